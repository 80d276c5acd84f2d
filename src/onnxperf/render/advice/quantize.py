"""A quantised model as a page and a chart: ways, layers before and after, conversions that stayed, errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onnxperf.records.quantize import FLOAT32, LayerChange, Quantization, TriedWay, UnfusedPair
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.kit.machine import cpu_text
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import Heading, Line, Part, closing
from onnxperf.wording.names import dims_text, first_of, name_of, shortened_apart
from onnxperf.wording.numbers import NOTHING, count, factor, interval, microseconds, percent, percent_at_most, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ROWS = 20
_MOST_UNFUSED = 8
_OUTCOMES = {"won": "green", "lost": "red", "same": ""}
_VERDICTS = {"faster": "green", "slower": "red"}
_LABEL_LENGTH = 60
_ALIKE = 0.1
"""Times that differ by less are called the same; by more, but unproven, unclear."""


def quantize_page(record: Quantization, answer: str) -> list[Part]:
    """What was tried, what each layer won or lost, what did not fuse, how far off it is, and the answer."""
    return [
        Heading(record.model, _facts(record)),
        *([_ways_table(record)] if record.ways else []),
        *_layers(record),
        *_unfused(record),
        *([_errors_table(record)] if record.errors else []),
        *closing(answer, record.notes, record.interrupted),
    ]


def _facts(record: Quantization) -> list[str]:
    kind = "given" if record.calibrated else "random"
    inputs = f"calibrated in {count(record.calibration_inputs, 'call')} with {kind} inputs"
    dims = [dims_text(record.dims)] if record.dims else []
    cpu = [cpu_text(record.machine)] if record.machine is not None else []
    return [*dims, inputs, *cpu]


# ---------------------------------------------------------------- tables


def _ways_table(record: Quantization) -> Table:
    columns = (
        Column("way", left=True, room=24),
        Column("nodes", rank=2),
        Column("size", rank=3),
        Column("speedup"),
        Column("interval", rank=1),
        Column("against", left=True, rank=4),
        Column("error"),
        Column("result", left=True),
    )
    rows = [_way_row(record, each) for each in record.ways]
    return without_empty(Table(columns, rows, "Ways"))


def _way_row(record: Quantization, tried: TriedWay) -> Row:
    known, bounded = tried.speedup is not None, tried.speedup_low is not None
    cells = (
        tried.way.name,
        str(tried.nodes) if tried.nodes else "",
        size(tried.size_bytes) if tried.size_bytes is not None else "",
        factor(tried.speedup) if known else "",
        interval(tried.speedup_low, tried.speedup_high) if bounded else "",
        tried.against if known else "",
        _error(tried.error) if tried.status == "ok" or tried.error is not None else "",
        _result(record, tried),
    )
    return Row(cells, styles={3: _VERDICTS.get(tried.verdict or "", "")})


def _result(record: Quantization, tried: TriedWay) -> str:
    if tried.status != "ok":
        return tried.status
    # A search decides nothing else. Nodes that were left out raced their own way, and no speedup over float32 is known.
    verdict: str = tried.verdict if tried.verdict in _VERDICTS else ""
    verdict = f"{verdict} than with them" if verdict and tried.against != FLOAT32 else verdict
    if tried.way.name == record.best != record.chosen:
        return "slower, not chosen"
    if tried.way.name == record.chosen:
        return "chosen" if tried.against == FLOAT32 else ", ".join(filter(None, ["chosen", verdict]))
    return verdict if tried.acceptable else "error too large"


def _layers(record: Quantization) -> list[Part]:
    if not record.layers:
        return []
    columns = (
        Column("layer", left=True, room=22),
        Column("operators", left=True, rank=2, room=16),
        Column("float32"),
        Column("int8"),
        Column("ratio"),
        Column("converting", rank=4),
        Column("kernels in int8", left=True, rank=5, room=16),
        Column("error alone", rank=3),
        Column("result", left=True),
    )
    shown = record.layers[:_MOST_ROWS]
    table = Table(columns, [_layer_row(each) for each in shown], "Time per inference by original nodes")
    rest = record.layers[_MOST_ROWS:]
    more = [Line(_about_rest(rest), "dim")] if rest else []
    return [without_empty(table), *more]


def _about_rest(rest: Sequence[LayerChange]) -> str:
    before, after = sum(each.before_us for each in rest), sum(each.after_us for each in rest)
    return f"{count(len(rest), 'layer')} more: {microseconds(before)} in float32, {microseconds(after)} in int8"


def _layer_row(layer: LayerChange) -> Row:
    cells = (
        first_of([name_of(name) for name in layer.nodes], 2),
        ", ".join(dict.fromkeys(layer.ops)),
        microseconds(layer.before_us),
        microseconds(layer.after_us),
        factor(layer.before_us / layer.after_us) if layer.after_us and layer.before_us else "",
        microseconds(layer.convert_us) if layer.convert_us else "",
        ", ".join(dict.fromkeys(layer.kernels)),
        _error(layer.error) if layer.error is not None else "",
        f"{_outcome(layer)}, stays in float32" if layer.excluded else _outcome(layer),
    )
    return Row(cells, styles={8: _OUTCOMES[layer.outcome]})


def _outcome(layer: LayerChange) -> str:
    """What is not beyond the noise is the same only where the times say so, too."""
    alike = abs(layer.before_us - layer.after_us) <= _ALIKE * max(layer.before_us, layer.after_us)
    return "unclear" if layer.outcome == "same" and not alike else layer.outcome


def _unfused(record: Quantization) -> list[Part]:
    """Conversions that one kind of operator breaks for one reason are one row: a network has many of them."""
    alike: dict[tuple[str, str, str], list[UnfusedPair]] = {}
    for each in record.unfused:
        if each.node:
            alike.setdefault((each.op_name, each.node_op, _reason(each)), []).append(each)
    if not alike:
        return []
    columns = (
        Column("not fused", left=True),
        Column("number"),
        Column("broken by", left=True),
        Column("nodes", left=True, rank=2, room=20),
        Column("time"),
        Column("why", left=True, room=30),
    )
    order = sorted(alike.values(), key=lambda several: -sum(each.time_us for each in several))
    rows = [Row(_unfused_cells(each)) for each in order[:_MOST_UNFUSED]]
    rest = [each for several in order[_MOST_UNFUSED:] for each in several]
    spent = microseconds(sum(each.time_us for each in rest))
    more = [Line(f"{count(len(rest), 'conversion')} more: {spent}", "dim")] if rest else []
    return [Table(columns, rows, "Conversions that are executed as nodes of their own"), *more]


def _unfused_cells(alike: Sequence[UnfusedPair]) -> tuple[str, ...]:
    nodes = first_of([name_of(each.node) for each in alike], 2)
    first, spent = alike[0], microseconds(sum(each.time_us for each in alike))
    return (first.op_name, str(len(alike)), name_of(first.node_op), nodes, spent, _reason(first))


def _reason(pair: UnfusedPair) -> str:
    """Why it is not fused, without the name of a tensor."""
    left = "the quantiser left an input of it in float32"
    return left if pair.why.startswith("the quantiser left its input") else pair.why


def _errors_table(record: Quantization) -> Table:
    columns = (
        Column("output", left=True, room=16),
        Column("error"),
        Column("relative error"),
        Column("largest", rank=2),
        Column("largest, relative", rank=3),
        Column("cosine", rank=1),
        Column("top-1 agreement"),
    )
    rows = [
        Row(
            (
                name_of(each.name),
                _error(each.max_relative),
                _error(each.relative),
                "" if each.max_abs is None else factor(each.max_abs),
                _error(each.max_relative),
                "" if each.cosine is None else factor(each.cosine),
                "" if each.top1 is None else percent(each.top1),
            )
        )
        for each in record.errors
    ]
    calls = count(record.held_out_inputs, "call")
    return without_empty(Table(columns, rows, f"Errors of the result in {calls}"))


def _error(value: float | None) -> str:
    return NOTHING if value is None else percent_at_most(value)


# ---------------------------------------------------------------- chart


def layers_plot(record: Quantization, ax: Axes | None = None) -> Axes:
    """Time of the costliest layers in float32 and in int8; pale where no difference is proven."""
    shown = record.layers[: fg.MAX_BARS]
    labels = shortened_apart([first_of([name_of(name) for name in each.nodes], 2) for each in shown], _LABEL_LENGTH)
    panel: Any = ax
    if panel is None:
        figure = fg.bar_figure(labels, 1, "Time per layer in float32 and int8", name_of(record.model), row=0.34)
        panel = figure.subplots()
    pale = [each.outcome == "same" for each in shown]
    bars = [
        _bars([each.before_us for each in shown], fg.GREY, pale),
        _bars([each.after_us for each in shown], fg.BLUE, pale),
    ]
    fg.draw_bars(panel, labels, bars, False)
    fg.time_axis(panel.xaxis)
    noise = {"pale: noise": fg.GRID} if any(pale) else {}
    lines = fg.legend(panel, fg.patches({"float32": fg.GREY, "int8": fg.BLUE} | noise))
    if ax is not None:
        fg.name_given(panel, name_of(record.model), lines)
    axes: Axes = panel
    return axes


def _bars(values: Sequence[float], colour: str, pale: Sequence[bool]) -> fg.Bars:
    return fg.Bars(values, [colour] * len(values), [microseconds(us) if us else "" for us in values], pale)
