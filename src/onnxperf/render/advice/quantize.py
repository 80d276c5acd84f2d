"""A quantized model as a page: ways, layers before and after, conversions that stayed, errors, and the race."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from onnxperf.records.comparison import Comparison
from onnxperf.records.quantize import (
    FLOAT32,
    INT8,
    LayerChange,
    OutputError,
    Quantization,
    QuantizationWay,
    TriedWay,
    UnfusedPair,
)
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import GREY, PERCENT, PINK, VERDICT_COLORS, Chart, colors_of, microsecond_unit
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import (
    BYTES,
    FACTOR,
    NAME,
    SHARE,
    TEXT,
    US,
    WHOLE,
    Column,
    Format,
    change_column,
    field_columns,
    for_screens,
)
from onnxperf.render.kit.comparison import Compared, comparison_columns, ratio_columns
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.page import Heading, Page, Section, answered
from onnxperf.render.kit.table import Footer, On, Table
from onnxperf.render.race.sections import race_parts
from onnxperf.wording.names import dims_text, first_of, name_of
from onnxperf.wording.numbers import count, microseconds, percent_at_most

_MOST_ROWS, _MOST_BARS, _MOST_UNFUSED = 20, 30, 8
_ALIKE = 0.1
"""Times that differ by less are called the same; by more, but unproven, unclear."""
ERROR = Format(percent_at_most, excel="0.00%")
_SIDES = colors_of((FLOAT32, INT8))
"""The colors that these have in the race."""


def quantize_page(record: Quantization) -> Page:
    """What was tried, what each layer won or lost, what did not fuse, how far off it is, the answer and the race."""
    ways: list[Any] = [*ways_charts(record)] or [ways_table(record)]
    layers = [*layers_charts(record), *errors_charts(record)]
    race = [Section("Confirming race", race_parts(record.race), "page")] if record.race is not None else []
    return [
        Heading(record.model, _facts(record)),
        Section("Candidates", ways),
        Section("Layers", [layers_table(record, _MOST_ROWS, "screen"), *layers]),
        Section("Conversions", [_unfused_kinds_table(record)]),
        Section("Errors", [errors_table(record)]),
        *answered(record.answer, record.notes, record.interrupted, _verdict(record)),
        *race,
    ]


def _verdict(record: Quantization) -> str:
    subjects = record.race.subjects if record.race is not None else ()
    return next((each.verdict for each in subjects if each.verdict not in (None, "baseline")), None) or "undecided"


def _facts(record: Quantization) -> list[str]:
    kind = "given" if record.calibrated else "random"
    inputs = f"calibrated in {count(record.calibration_inputs, 'call')} with {kind} inputs"
    dims = [dims_text(record.dims)] if record.dims else []
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    return [*dims, inputs, *cpu]


# ---------------------------------------------------------------- ways


def ways_table(record: Quantization) -> Table[TriedWay]:
    """A row per way."""
    by = _ways(record)
    name, *columns = comparison_columns(by)
    fields = field_columns(QuantizationWay, ("mode", "activations", "weights", "per_channel"))
    arguments = [each.of(lambda row: row.way) for each in fields]
    kept = field_columns(TriedWay, ("status", "excluded", "verdict", "acceptable"))
    return Table([name, *arguments, *columns, *kept], record.ways, "The search: float32 / int8, above 1 is faster")


def ways_charts(record: Quantization) -> list[Chart]:
    """The speedups of the search."""
    measured = sum(each.speedup is not None for each in record.ways)
    summary = (
        f"Speedups of {count(measured, 'candidate')} in the search, with 95 % CI; right of 1 is "
        "faster than what it raced against."
    )
    return forest_chart("Candidates in int8", summary, _ways(record), record.ways, table=ways_table(record))


def _ways(record: Quantization) -> Compared[TriedWay]:
    return Compared(
        name=lambda row: row.way.name,
        of=lambda row: Comparison.spelled(row, "speedup"),
        word=lambda row: _result(record, row),
        verdict="result",
        more=(
            Column("error", "error", lambda row: row.error, ERROR),
            Column("nodes", "nodes", lambda row: row.nodes or None, WHOLE, 100),
            Column("size_bytes", "size", lambda row: row.size_bytes, BYTES, 100),
            Column("against", "against", _against, NAME, 0, text=_against),
            for_screens("why", lambda row: row.reason, TEXT, width=140, room=24, cut=True),
        ),
        color=lambda row: VERDICT_COLORS.get(row.verdict or "", GREY),
        tooltip=_about_way,
    )


def _against(tried: TriedWay) -> str:
    return tried.against if tried.speedup is not None and tried.against != FLOAT32 else ""


def _about_way(tried: TriedWay) -> str:
    error = f"error {percent_at_most(tried.error)}" if tried.error is not None else ""
    return "\n".join(filter(None, [f"against {name_of(tried.against)}", error]))


def _result(record: Quantization, tried: TriedWay) -> str:
    if tried.status != "ok":
        return tried.status
    # A search decides nothing else. Nodes that were left out raced their own way, and no speedup over float32 is known.
    verdict: str = tried.verdict if tried.verdict in ("faster", "slower") else ""
    if tried.way.name == record.best != record.chosen:
        return "slower"
    if tried.way.name == record.chosen:
        return "chosen"
    return verdict if tried.acceptable else "error too large"


# ---------------------------------------------------------------- layers


def layers_table(record: Quantization, most: int | None = None, on: On = "all") -> Table[LayerChange]:
    """A row per layer; of more than `most`, the cheapest ones together."""
    ratio, _, result = ratio_columns(_LAYERS)  # no layer has an interval
    columns: list[Column[LayerChange]] = [
        Column("layer", "layer", _layer_name, TEXT, room=22),
        Column("ops", "operators", lambda row: row.ops, TEXT, 80, text=lambda row: _names(row.ops), room=16),
        Column("before_us", FLOAT32, lambda row: row.before_us, US),
        Column("after_us", INT8, lambda row: row.after_us, US),
        ratio,
        result,
        change_column(lambda row: row.before_us, lambda row: row.after_us, record.layers),
        Column("convert_us", "converting", lambda row: row.convert_us, US, 100, text=_converting),
        Column("kernels", "kernels in int8", lambda row: row.kernels, TEXT, 140, text=_kernels, room=16),
        Column("error", "error alone", lambda row: row.error, ERROR, 100),
        *field_columns(LayerChange, ("nodes", "outcome", "quantized", "excluded")),
    ]
    shown = record.layers[:most]
    footers = [_other_layers(rest)] if (rest := record.layers[len(shown) :]) else []
    return Table(columns, shown, "Time per inference by original nodes", footers=footers, on=on)


def _other_layers(rest: Sequence[LayerChange]) -> Footer:
    times = {key: math.fsum(getattr(each, key) for each in rest) for key in ("before_us", "after_us")}
    return Footer({"layer": count(len(rest), "other"), **times}, "dim", in_files=False)


def _layer_name(layer: LayerChange) -> str:
    return first_of([name_of(name) for name in layer.nodes], 2)


def _names(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(map(name_of, names)))


def _kernels(layer: LayerChange) -> str:
    return _names(layer.kernels)


def _converting(layer: LayerChange) -> str:
    return microseconds(layer.convert_us) if layer.convert_us else ""


def _outcome(layer: LayerChange) -> str:
    """What is not beyond the noise is the same only where the times say so, too."""
    alike = abs(layer.before_us - layer.after_us) <= _ALIKE * max(layer.before_us, layer.after_us)
    outcome = "unclear" if layer.outcome == "same" and not alike else layer.outcome
    return f"{outcome} · stays in {FLOAT32}" if layer.excluded else outcome


_LAYERS: Compared[LayerChange] = Compared(
    name=_layer_name,
    of=lambda row: Comparison(ratio=row.before_us / row.after_us if row.after_us and row.before_us else None),
    word=_outcome,
    key="ratio",
    ratio="ratio",
    verdict="result",
)


def layers_charts(record: Quantization) -> list[Chart]:
    """Time of the costliest layers in float32 and in int8; pale where no difference is proven."""
    layers = record.layers[:_MOST_BARS]
    if not layers:
        return []
    pale = [each.outcome == "same" for each in layers]
    before, after = [each.before_us for each in layers], [each.after_us for each in layers]
    series = [
        BarSeries(FLOAT32, before, [microseconds(us) for us in before], _SIDES[FLOAT32], pale),
        BarSeries(INT8, after, [_layer_words(each) for each in layers], _SIDES[INT8], pale),
    ]
    won, lost = (sum(each.outcome == outcome for each in record.layers) for outcome in ("won", "lost"))
    rest = len(record.layers) - len(layers)
    more = f" The {count(rest, 'cheapest layer')} are only in the table." if rest else ""
    summary = (
        f"Time per inference of {count(len(record.layers), 'layer')} in float32 and in int8, conversions included: "
        f"{won} won, {lost} lost, pale ones are not proven to differ.{more}"
    )
    drawn = bars([*map(_layer_name, layers)], series, "time per inference", microsecond_unit([*before, *after]))
    return [bars_chart("Time by layer", summary, drawn, layers_table(record), "page")]


def _layer_words(layer: LayerChange) -> str:
    convert = f" ({microseconds(layer.convert_us)} converting)" if layer.convert_us else ""
    return f"{microseconds(layer.after_us)}{convert}, {_outcome(layer)}"


def errors_charts(record: Quantization) -> list[Chart]:
    """The largest error of an output if only one layer is quantized, the largest first."""
    known = [(each.error, _layer_name(each)) for each in record.layers if _finite(each.error)]
    layers = sorted(((error or 0.0, name) for error, name in known), key=lambda each: -each[0])[:_MOST_BARS]
    if not layers:
        return []
    errors = [error for error, _ in layers]
    series = BarSeries("", errors, [*map(percent_at_most, errors)], PINK)
    summary = (
        f"Largest error of an output if only this layer is quantized, for {count(len(layers), 'layer')}; "
        f"{percent_at_most(record.max_error)} are accepted for the whole model."
    )
    drawn = bars([name for _, name in layers], [series], "error of an output", PERCENT)
    return [bars_chart("Error by layer", summary, drawn, on="page")]


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


# ---------------------------------------------------------------- conversions


class _Alike(NamedTuple):
    """Conversions that one kind of operator breaks for one reason: a network has many of them."""

    reason: str
    pairs: Sequence[UnfusedPair]

    @property
    def time_us(self) -> float:
        """Of all of them."""
        return math.fsum(each.time_us for each in self.pairs)


def unfused_table(record: Quantization) -> Table[UnfusedPair]:
    """A row per conversion, those at inputs and outputs of the model included."""
    return Table(field_columns(UnfusedPair), record.unfused)


def _unfused_kinds_table(record: Quantization) -> Table[_Alike]:
    """The same for a screen: what one kind of operator breaks for one reason is one row."""
    alike: dict[tuple[str, str, str], list[UnfusedPair]] = {}
    for each in record.unfused:
        if each.node:
            alike.setdefault((each.op_name, each.node_op, _reason(each)), []).append(each)
    kinds = sorted((_Alike(reason, pairs) for (*_, reason), pairs in alike.items()), key=lambda each: -each.time_us)
    columns: list[Column[_Alike]] = [
        for_screens("not fused", lambda row: row.pairs[0].op_name, NAME),
        for_screens("number", lambda row: len(row.pairs), WHOLE),
        for_screens("broken by", lambda row: row.pairs[0].node_op, NAME),
        for_screens("nodes", lambda row: first_of([name_of(each.node) for each in row.pairs], 2), width=100, room=20),
        Column("time_us", "time", lambda row: row.time_us, US),
        for_screens("why", lambda row: row.reason, room=24, folds=True),
    ]
    rest = kinds[_MOST_UNFUSED:]
    number, spent = sum(len(each.pairs) for each in rest), math.fsum(each.time_us for each in rest)
    footers = [Footer({"": count(number, "other"), "time_us": spent}, "dim", in_files=False)] if rest else []
    title = "Conversions that run as separate nodes"
    return Table(columns, kinds[:_MOST_UNFUSED], title, footers=footers)


def _reason(pair: UnfusedPair) -> str:
    """Why it is not fused, without the name of a tensor."""
    who, left, _ = pair.why.partition(" left its input")
    return f"{who} left an input of it in {FLOAT32}" if left else pair.why


# ---------------------------------------------------------------- errors


def errors_table(record: Quantization) -> Table[OutputError]:
    """A row per output."""
    columns: list[Column[OutputError]] = [
        Column("name", "output", lambda row: row.name, NAME, room=16),
        Column("max_relative", "error", lambda row: row.max_relative, ERROR),
        Column("relative", "relative error", lambda row: row.relative, ERROR),
        Column("max_abs", "largest", lambda row: row.max_abs, FACTOR, 80),
        Column("cosine", "cosine", lambda row: row.cosine, FACTOR, 60),
        Column("top1", "top-1 agreement", lambda row: row.top1, SHARE),
        *field_columns(OutputError, ("rows", "elements")),
    ]
    return Table(columns, record.errors, f"Errors of the outputs in {count(record.held_out_inputs, 'call')}")
