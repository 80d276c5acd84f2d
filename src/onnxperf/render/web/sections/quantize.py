"""A quantised model on a page: the ways as a forest, time and error by layer, and the confirming race."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.quantize import FLOAT32, LayerChange, Quantization, TriedWay
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.forest import (
    BLUE,
    GREY,
    PINK,
    VERDICT_COLOURS,
    Forest,
    ForestMark,
    estimate_cells,
    forest_chart,
    has_marks,
)
from onnxperf.render.web.old_base import Chart, Part, Section
from onnxperf.render.web.plots import ChartAxis, finite
from onnxperf.render.web.sections.race import race_parts
from onnxperf.wording.names import first_of, name_of, visible
from onnxperf.wording.numbers import count, duration_unit, microseconds, percent_at_most

MOST_LAYERS = 30
"""Layers that charts show, the costliest ones; the tables have all."""


def quantize_sections(record: Quantization) -> list[Section]:
    """What was tried, what each layer won or lost, and the race that the answer rests on."""
    sections = [
        Section("Ways", _ways(record)),
        Section("Layers", [*_times(record), *_errors(record)]),
        Section("Confirming race", race_parts(record.race) if record.race is not None else []),
    ]
    return [each for each in sections if each.parts]


def _ways(record: Quantization) -> list[Part]:
    estimates = [_estimate(record, each) for each in record.ways]
    forest = Forest(estimates)
    if not has_marks(forest):
        return []
    measured = sum(each.value is not None for each in estimates)
    summary = (
        f"Speedups of {count(measured, 'way')} to quantise the model in the search, with 95 % intervals; right of 1 is "
        "faster than what it was raced against."
    )
    columns = [Column("way", left=True), Column("speedup"), Column("95 % interval"), Column("result", left=True)]
    columns += [Column("against", left=True), Column("error"), Column("why", left=True)]
    rows = [
        Row([*estimate_cells(estimate), each.against, _error(each.error), visible(each.reason)])
        for estimate, each in zip(estimates, record.ways, strict=True)
    ]
    return [forest_chart("Ways to quantise", summary, "speedup", [forest], without_empty(Table(columns, rows)))]


def _estimate(record: Quantization, tried: TriedWay) -> ForestMark:
    chosen = "chosen" if tried.way.name == record.chosen else ""
    status = "" if tried.status == "ok" else tried.status
    refused = "error too large" if tried.status == "ok" and not tried.acceptable else ""
    than = " than with them" if tried.verdict in ("faster", "slower") and tried.against != FLOAT32 else ""
    word = " · ".join(filter(None, [f"{tried.verdict or ''}{than}", status, refused, chosen]))
    error = f"error {percent_at_most(tried.error)}" if tried.error is not None else ""
    more = "\n".join(filter(None, [f"against {name_of(tried.against)}", error, visible(tried.reason)]))
    colour = VERDICT_COLOURS.get(tried.verdict or "", GREY)
    return ForestMark(tried.way.name, tried.speedup, tried.speedup_low, tried.speedup_high, colour, word, more)


def _times(record: Quantization) -> list[Part]:
    """Time of each layer in float32 and in int8."""
    layers = record.layers[:MOST_LAYERS]
    if not layers:
        return []
    scale, unit = duration_unit(1e3 * max(max(each.before_us, each.after_us) for each in layers))
    before, after = [each.before_us for each in layers], [each.after_us for each in layers]
    parts = [
        BarSeries("float32", [1e3 * us / scale for us in before], [*map(microseconds, before)], GREY),
        BarSeries("int8", [1e3 * us / scale for us in after], [_layer_words(each) for each in layers], BLUE),
    ]
    won = sum(each.outcome == "won" for each in record.layers)
    lost = sum(each.outcome == "lost" for each in record.layers)
    summary = (
        f"Time per inference of {count(len(record.layers), 'layer')} in float32 and in int8, conversions included: "
        f"{won} won, {lost} lost, the others did not change beyond the noise.{_left_out(record.layers)}"
    )
    data = bars_data([*map(_name, layers)], parts, ChartAxis(f"time per inference ({unit})", from_zero=True))
    return [Chart("bars", "Time by layer", summary, data, _layer_table(record.layers), 110 + 44 * len(layers))]


def _left_out(layers: Sequence[LayerChange]) -> str:
    rest = len(layers) - MOST_LAYERS
    return f" The {count(rest, 'cheapest layer')} are only in the table." if rest > 0 else ""


def _layer_words(layer: LayerChange) -> str:
    convert = f", of which {microseconds(layer.convert_us)} converting" if layer.convert_us else ""
    stays = ", stays in float32" if layer.excluded else ""
    return f"{microseconds(layer.after_us)}{convert}, {layer.outcome}{stays}"


def _errors(record: Quantization) -> list[Part]:
    """The largest error of an output where only one layer is quantised."""
    layers = [each for each in record.layers if finite(each.error) is not None]
    layers = sorted(layers, key=lambda each: -(each.error or 0.0))[:MOST_LAYERS]
    if not layers:
        return []
    values = [100 * (each.error or 0.0) for each in layers]
    series = BarSeries("error", values, [_error(each.error) for each in layers], PINK)
    columns = [Column("layer", left=True), Column("error alone")]
    table = Table(columns, [Row([_name(each), _error(each.error)]) for each in layers])
    summary = (
        f"Largest error of an output where only this layer is quantised, for {count(len(layers), 'layer')}; "
        f"{percent_at_most(record.max_error)} are accepted for the whole model."
    )
    data = bars_data([*map(_name, layers)], [series], ChartAxis("error of an output (%)", from_zero=True))
    return [Chart("bars", "Error by layer", summary, data, table, 90 + 30 * len(layers))]


def _layer_table(layers: Sequence[LayerChange]) -> Table:
    columns = [Column("layer", left=True), Column("operators", left=True), Column("float32"), Column("int8")]
    columns += [Column("converting"), Column("error alone"), Column("result", left=True)]
    rows = [
        Row(
            [
                _name(each),
                ", ".join(dict.fromkeys(map(name_of, each.ops))),
                microseconds(each.before_us),
                microseconds(each.after_us),
                microseconds(each.convert_us) if each.convert_us else "",
                _error(each.error) if each.error is not None else "",
                f"{each.outcome}, stays in float32" if each.excluded else each.outcome,
            ]
        )
        for each in layers
    ]
    return without_empty(Table(columns, rows))


def _name(layer: LayerChange) -> str:
    return first_of([name_of(name) for name in layer.nodes], 2)


def _error(value: float | None) -> str:
    return "" if finite(value) is None else percent_at_most(value or 0.0)
