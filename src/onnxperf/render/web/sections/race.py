"""A race on a page: speedups with their intervals, the blocks behind them, and how single calls are distributed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.race.instructions import instruction_table
from onnxperf.render.race.split import split_table
from onnxperf.render.web.bars import BarSeries, bars_data
from onnxperf.render.web.forest import (
    BLUE,
    GREY,
    SKY,
    VERDICT_COLOURS,
    YELLOW,
    Forest,
    ForestMark,
    estimate_cells,
    forest_chart,
    has_marks,
)
from onnxperf.render.web.layers import Filter, Layer, layered
from onnxperf.render.web.old_base import Part, Section
from onnxperf.render.web.plots import ChartAxis
from onnxperf.render.web.sections.calls import distribution, percentiles
from onnxperf.render.web.sections.samples import samples
from onnxperf.wording.names import dims_text, listed, name_of, visible
from onnxperf.wording.numbers import count, duration, duration_unit, grouped, ratio

Cases = Mapping[str, Case]
"""Cases by what the select box calls them."""
CASE = "case"
"""Name of that select box, and of the first column of every table behind a chart."""
_SPLIT = (("prepare", YELLOW), ("compute", BLUE), ("fetch", SKY))


def race_sections(case: Case, title: str = "Race") -> list[Section]:
    """What a page shows of one race."""
    return cases_sections({"": case}, title)


def race_parts(case: Case) -> list[Part]:
    """The same under a title that a section has already."""
    return [part for section in race_sections(case) for part in section.parts]


def cases_sections(cases: Cases, title: str = "Race") -> list[Section]:
    """What a page shows of a few races; select boxes choose one."""
    sections = [
        Section(title, speedups(cases)),
        Section("Raw samples", samples(cases)),
        Section("Single calls", [*distribution(cases), *percentiles(cases)]),
        Section("Inside a call", [*splits(cases), *instructions(cases)]),
    ]
    return [each for each in sections if each.parts]


def labels_of(cases: Sequence[Case]) -> dict[str, Case]:
    """Cases by their models and dimensions; a number tells those apart that have the same."""
    models = {case.model for case in cases}
    found: dict[str, Case] = {}
    for case in cases:
        label = ", ".join(filter(None, [name_of(case.model) if len(models) > 1 else "", visible(dims_text(case.dims))]))
        label = label or name_of(case.model)
        same = sum(each == label or each.startswith(f"{label} (") for each in found)
        found[f"{label} ({same + 1})" if same else label] = case
    return found


def case_filter(cases: Cases) -> list[Filter]:
    """A select box for the case, where there are several."""
    return [Filter(CASE, list(cases), column=0)] if len(cases) > 1 else []


# ---------------------------------------------------------------- speedups


def speedups(cases: Cases) -> list[Part]:
    """Speedups with their intervals, one row per subject; 1 is the baseline."""
    forests = {label: Forest(_estimates(case), case.min_effect, {CASE: label}) for label, case in cases.items()}
    if not any(map(has_marks, forests.values())):
        return []
    columns = [Column(CASE, left=True), Column("name", left=True), Column("speedup"), Column("95 % interval")]
    columns.append(Column("verdict", left=True))
    rows = [Row([label, *estimate_cells(each)]) for label, forest in forests.items() for each in forest.estimates]
    baselines = listed(dict.fromkeys(name_of(case.baseline or "") for case in cases.values()))
    summary = f"{_how_many(list(cases.values()))} Right of 1 is faster than {baselines}."
    effects = {case.min_effect for case in cases.values()}
    if any(effects):
        summary += " Within the grey band around 1 a difference does not matter."
    axis = f"speedup relative to {baselines}"
    table = without_empty(Table(columns, rows))
    return [forest_chart("Speedups", summary, axis, list(forests.values()), table, case_filter(cases))]


def _how_many(cases: Sequence[Case]) -> str:
    subjects = [each for case in cases for each in case.subjects if each.speedup is not None and not _is_baseline(each)]
    decided = [each for each in subjects if each.verdict in ("faster", "slower")]
    where = f" in {count(len(cases), 'case')}" if len(cases) > 1 else ""
    return (
        f"Speedups of {count(len(subjects), 'subject')}{where}, with 95 % intervals; "
        f"{count(len(decided), 'difference')} beyond the noise."
    )


def _is_baseline(subject: Subject) -> bool:
    return subject.verdict == "baseline"


def _estimates(case: Case) -> list[ForestMark]:
    return [subject_estimate(each) for each in case.subjects if each.speedup is not None]


def subject_estimate(subject: Subject) -> ForestMark:
    """A subject of a race with its speedup."""
    word = subject.verdict or ("no verdict" if subject.status == "ok" else "")
    status = "" if subject.status == "ok" else subject.status
    rests = (
        f"over {count(subject.units, subject.unit, _PLURALS[subject.unit])}" if subject.unit and subject.units else ""
    )
    return ForestMark(
        name=subject.name,
        value=subject.speedup,
        low=subject.speedup_low,
        high=subject.speedup_high,
        colour=VERDICT_COLOURS.get(subject.verdict or "", GREY),
        word=" · ".join(filter(None, [word, status])),
        more="\n".join(filter(None, [rests, visible(subject.reason)])),
    )


_PLURALS = {"launch": "launches", "set-up": "set-ups", "round": "rounds"}


# ---------------------------------------------------------------- what a call is made of


def splits(cases: Cases) -> list[Part]:
    """Preparing, computing and fetching, as far as calls were divided."""
    divided = {label: [each for each in case.subjects if each.split] for label, case in cases.items()}
    totals = [each.split.total_ns for several in divided.values() for each in several if each.split]
    if not totals:
        return []
    scale, unit = duration_unit(max(totals))
    layers = [Layer({CASE: label}, _split_data(several, scale, unit)) for label, several in divided.items()]
    table = joined({label: split_table(case) for label, case in cases.items()})
    rows = max(map(len, divided.values()))
    parts = ", ".join(name for name, _ in _SPLIT)
    summary = f"Medians of calls that were timed part by part ({parts}) for {count(rows, 'subject')}."
    title = "What a call is made of"
    chart = layered("bars", title, summary, {}, layers, case_filter(cases), table, height=110 + 36 * rows)
    return [chart]


def _split_data(subjects: Sequence[Subject], scale: float, unit: str) -> dict[str, object]:
    parts = []
    for name, colour in _SPLIT:
        times = [getattr(each.split, f"{name}_ns") for each in subjects]
        parts.append(BarSeries(name, [ns / scale for ns in times], [duration(ns) for ns in times], colour))
    axis = ChartAxis(f"time per call ({unit})", from_zero=True)
    return bars_data([each.name for each in subjects], parts, axis, stacked=True)


def instructions(cases: Cases) -> list[Part]:
    """Instructions of a call, as far as they were counted."""
    counted = {label: [each for each in case.subjects if each.instructions] for label, case in cases.items()}
    rows = max(map(len, counted.values()), default=0)
    if not rows:
        return []
    layers = [Layer({CASE: label}, _instruction_data(several)) for label, several in counted.items()]
    table = joined({label: instruction_table(case) for label, case in cases.items()})
    summary = (
        f"Instructions of a call with one thread, counted once, for {count(rows, 'subject')}: they do not depend on "
        "what else the machine does, and do not tell how long they take."
    )
    title = "Instructions per call"
    return [layered("bars", title, summary, {}, layers, case_filter(cases), table, height=110 + 36 * rows)]


def _instruction_data(subjects: Sequence[Subject]) -> dict[str, object]:
    counts = [each.instructions or 0.0 for each in subjects]
    words = [
        f"{grouped(each.instructions or 0.0)}, {ratio(each.instruction_ratio)} of the baseline" for each in subjects
    ]
    series = BarSeries("instructions", [each / 1e6 for each in counts], words, BLUE)
    return bars_data([each.name for each in subjects], [series], ChartAxis("million instructions", from_zero=True))


def joined(tables: Mapping[str, Table]) -> Table:
    """Tables of several cases as one, with a first column for the case where there are several."""
    columns = next(iter(tables.values())).columns
    rows = [Row([label, *row.cells]) for label, table in tables.items() for row in table.rows]
    return without_empty(Table([Column(CASE, left=True), *columns], rows))
