"""What calls are made of and how many instructions they take: bars, and the tables behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxperf.records.race import Case, Subject
from onnxperf.render.charts.bars import Bars, BarSeries, bars
from onnxperf.render.charts.base import BLUE, ORANGE, PLAIN, SKY, Chart, chosen_chart, time_unit
from onnxperf.render.race.subjects import CASE, COLUMNS, COUNT_COLUMNS, PARTS, SPLIT_COLUMNS, part_table, raced
from onnxperf.wording.numbers import count, duration, grouped, ratio

SPLIT = "What a call is made of"
INSTRUCTIONS = "Instructions per call"
_COLORS = (ORANGE, BLUE, SKY)
"""For preparing, computing and fetching."""
_THOUSANDS = ((1e9, "billion"), (1e6, "million"), (1e3, "thousand"), PLAIN)


def part_charts(cases: Mapping[str, Case]) -> list[Chart]:
    """What was found inside calls: their parts, their instructions."""
    return [*split_chart(cases), *instruction_chart(cases)]


def split_chart(cases: Mapping[str, Case]) -> list[Chart]:
    """Preparing, computing and fetching, as far as calls were divided."""
    rows = [row for row in raced(cases) if row.subject.split is not None]
    summary = f"Medians of calls that were timed part by part ({', '.join(PARTS)}), for {count(len(rows), 'subject')}."
    pictures = {
        label: _split_bars(several)
        for label, case in cases.items()
        if (several := [each for each in case.subjects if each.split is not None])
    }
    return chosen_chart(SPLIT, summary, pictures, part_table(rows, SPLIT_COLUMNS, SPLIT), CASE)


def _split_bars(subjects: Sequence[Subject]) -> Bars:
    series = []
    for name, color in zip(PARTS, _COLORS, strict=True):
        times = [getattr(each.split, f"{name}_ns") for each in subjects]
        series.append(BarSeries(name, times, [duration(ns) for ns in times], color))
    unit = time_unit(each.split.total_ns for each in subjects if each.split is not None)
    return bars([each.name for each in subjects], series, "time per call", unit, stacked=True)


def instruction_chart(cases: Mapping[str, Case]) -> list[Chart]:
    """Instructions of a call, as far as they were counted."""
    rows = [row for row in raced(cases) if row.subject.instructions is not None]
    summary = (
        f"Instructions of a call with one thread, counted once, for {count(len(rows), 'subject')}. They do not depend "
        "on other load, and do not tell how long they take."
    )
    by_time = next(column for column in COLUMNS if column.key == "verdict")._replace(heading="by time", width=60)
    pictures = {
        label: _instruction_bars(several)
        for label, case in cases.items()
        if (several := [each for each in case.subjects if each.instructions is not None])
    }
    table = part_table(rows, [*COUNT_COLUMNS, by_time], INSTRUCTIONS)
    return chosen_chart(INSTRUCTIONS, summary, pictures, table, CASE)


def _instruction_bars(subjects: Sequence[Subject]) -> Bars:
    words = [f"{grouped(each.instructions or 0.0)} · {ratio(each.instruction_ratio)}" for each in subjects]
    series = BarSeries("instructions", [each.instructions or 0.0 for each in subjects], words)
    most = max(series.values)
    unit = next((each for each in _THOUSANDS if most >= each[0]), _THOUSANDS[-1])
    return bars([each.name for each in subjects], [series], "instructions", unit)
