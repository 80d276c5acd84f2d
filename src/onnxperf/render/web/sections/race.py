"""A race on a page: speedups with their intervals, the blocks behind them, and how single calls are distributed."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.race import Bench, Case, Subject
from onnxperf.render.kit.table import Column, Row, Table
from onnxperf.render.web.base import Chart, Section
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, interval, ratio

_MARKS = {"faster": 2, "slower": 1, "equivalent": 6, "undecided": 4, "baseline": 0}
"""Places of colours on a page, by verdict."""


def bench_sections(bench: Bench) -> list[Section]:
    """A section for each case."""
    return [section for case in bench.cases for section in race_sections(case)]


def race_sections(case: Case) -> list[Section]:
    """What a page shows of one case."""
    parts = [forest(case)] if any(subject.speedup for subject in case.subjects) else []
    title = "Race" if not case.dims else f"Race at {dims_text(case.dims)}"
    return [Section(title, parts)] if parts else []


def forest(case: Case) -> Chart:
    """Speedups with their intervals, one row per subject; 1 is the baseline."""
    rows = [subject for subject in case.subjects if subject.speedup is not None]
    marks = [
        {
            "name": name_of(each.name),
            "value": each.speedup,
            "low": each.speedup_low or each.speedup,
            "high": each.speedup_high or each.speedup,
            "colour": _MARKS.get(each.verdict or "", 6),
            "words": _words(each),
        }
        for each in rows
    ]
    decided = [each for each in rows if each.verdict in ("faster", "slower")]
    summary = (
        f"Speedups of {count(len(rows), 'subject')} relative to {name_of(case.baseline or '')}, with 95 % intervals; "
        f"{len(decided)} differ from it beyond the noise. Right of 1 is faster."
    )
    data = {"marks": marks, "effect": case.min_effect, "axis": f"speedup relative to {name_of(case.baseline or '')}"}
    return Chart("forest", "Speedups", summary, data, _forest_table(rows), height=110 + 34 * len(rows))


def _words(subject: Subject) -> str:
    if subject.verdict == "baseline":
        return "baseline"
    found = f"{ratio(subject.speedup)}, {subject.verdict or 'no verdict'}"
    if subject.speedup_low is None:
        return found
    within = interval(subject.speedup_low, subject.speedup_high)
    rests = f" over {count(subject.units, subject.unit)}" if subject.unit and subject.units else ""
    return f"{found}\n95 % interval {within}{rests}"


def _forest_table(rows: Sequence[Subject]) -> Table:
    columns = [Column("name", left=True), Column("speedup"), Column("95 % interval"), Column("verdict", left=True)]
    cells = [
        [name_of(each.name), ratio(each.speedup), interval(each.speedup_low, each.speedup_high), each.verdict or ""]
        for each in rows
    ]
    return Table(columns, [Row(each) for each in cells])
