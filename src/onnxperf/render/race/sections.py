"""A race on a page, for its own result and for those of other features that race."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from onnxperf.records.race import P99_CALLS, Case, Subject
from onnxperf.render.charts.bars import Bars, BarSeries, bars
from onnxperf.render.charts.base import Chart, chosen_chart, time_unit
from onnxperf.render.charts.forest import forest, forests_chart
from onnxperf.render.kit.comparison import STATUS_STYLES
from onnxperf.render.kit.page import Line, Section
from onnxperf.render.kit.table import On
from onnxperf.render.race.calls import call_charts
from onnxperf.render.race.parts import part_charts
from onnxperf.render.race.samples import sample_chart
from onnxperf.render.race.subjects import (
    ABOUT,
    CASE,
    COMPARED,
    Look,
    case_link,
    is_uncertain,
    looks_of,
    outcome_of,
    race_table,
    raced,
    ranked,
)
from onnxperf.wording.names import dims_text, listed, name_of, visible, with_reasons
from onnxperf.wording.numbers import count, duration, plain

Cases = Mapping[str, Case]
"""Cases by what the select box calls them."""
_PLURALS = {"launch": "launches", "set-up": "set-ups", "round": "rounds"}
EXPLAINED = 200
"""Width of a console from which on columns are explained: that of --wide."""
_PERCENTILES = ("median_ns", "p90_ns", "p99_ns")


def race_sections(case: Case, title: str = "Race", on: On = "page") -> list[Section]:
    """What a page shows of one race."""
    return cases_sections({"": case}, title, on)


def race_parts(case: Case) -> list[Any]:
    """The same under a title that a section has already."""
    return [part for section in race_sections(case) for part in section.parts]


def cases_sections(cases: Cases, title: str = "Race", on: On = "page") -> list[Section]:
    """What a page shows of a few races; select boxes choose one."""
    sections = [
        Section(title, _race(cases), on),
        Section("Inside a call", part_charts(cases), on),
        Section("Blocks and single calls", [*sample_chart(cases), *call_charts(cases)], "page", folded=True),
    ]
    return [each for each in sections if each.parts]


def charts_of_races(races: Callable[[Any], Iterable[Case | None]]) -> dict[str, Callable[[Any], list[Chart]]]:
    """The charts of the races behind a result, by the names that its files give them."""

    def named(make: Callable[[Cases], list[Chart]]) -> Callable[[Any], list[Chart]]:
        def charts(record: Any) -> list[Chart]:
            cases = labels_of([case for case in races(record) if case is not None])
            return make(cases) if cases else []

        return charts

    makers = {"race": speedup_chart, "samples": sample_chart, "calls": call_charts, "parts": part_charts}
    return {name: named(make) for name, make in makers.items()}


def links_in(cases: Sequence[Case]) -> dict[int, str]:
    """What cases stand for on a page, by their ids."""
    return {id(case): case_link(label) for label, case in labels_of(cases).items()}


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


# ---------------------------------------------------------------- speedups


def _race(cases: Cases) -> list[Any]:
    """The subjects as a chart or a table, how to read it, and why some are missing."""
    rows = raced(cases)
    if not rows:
        return []
    table: list[Any] = [race_table(rows)]
    timed = sum(row.subject.time_ns is not None for row in rows)  # one bar alone says nothing
    shown = speedup_chart(cases) or (time_chart(cases) if timed > 1 else []) or table
    legend = " · ".join(_legends([row.subject for row in rows]))
    return [*shown, *([Line(legend, "dim", width=EXPLAINED)] if legend else []), *_reasons(cases)]


def speedup_chart(cases: Cases) -> list[Chart]:
    """Speedups with their intervals, 1 is the baseline; none if nothing is compared."""
    if not any(_is_compared(each) for case in cases.values() for each in case.subjects):
        return []
    looks = looks_of(cases.values())
    baselines = listed(dict.fromkeys(name_of(case.baseline or "") for case in cases.values()))
    by = COMPARED._replace(
        word=_word,
        axis=f"speedup relative to {baselines}",
        color=lambda subject: looks[subject.name].color,
        tooltip=_tooltip,
    )
    forests = {label: forest(by, ranked(case.subjects), case.min_effect) for label, case in cases.items()}
    summary = _summary(list(cases.values()), baselines)
    return forests_chart("Speedups", summary, forests, race_table(raced(cases)), CASE)


def time_chart(cases: Cases) -> list[Chart]:
    """The time of a call of each subject."""
    looks = looks_of(cases.values())
    pictures = {label: _times(case, looks) for label, case in cases.items() if any(map(_time, case.subjects))}
    names = {name for each in pictures.values() for name in each.names}
    summary = f"Undisturbed time of a call of {count(len(names), 'subject')}{_where(len(pictures))}."
    return chosen_chart("Time per call", summary, pictures, race_table(raced(cases)), CASE)


def _summary(cases: Sequence[Case], baselines: str) -> str:
    subjects = [each for case in cases for each in case.subjects if _is_compared(each)]
    decided = sum(each.verdict in ("faster", "slower") for each in subjects)
    intervals = ", with 95 % intervals" if any(each.speedup_low is not None for each in subjects) else ""
    said = [
        f"Speedups of {count(len(subjects), 'subject')}{_where(len(cases))}{intervals}; "
        f"{count(decided, 'difference')} beyond the noise. Right of 1 is faster than {baselines}."
    ]
    effects = {case.min_effect for case in cases if case.min_effect}
    if effects:
        below = f"{plain(100 * effects.pop())} %" if len(effects) == 1 else "the limit of their case"
        said.append(f"Differences below {below}, the gray band around 1, do not matter.")
    return " ".join(said)


def _where(cases: int) -> str:
    return f" in {count(cases, 'case')}" if cases > 1 else ""


def _is_compared(subject: Subject) -> bool:
    return subject.speedup is not None and subject.verdict != "baseline"


def _word(subject: Subject) -> str:
    return outcome_of(subject) or "no verdict"


def _tooltip(subject: Subject) -> str:
    units = (
        f"over {count(subject.units, subject.unit, _PLURALS[subject.unit])}" if subject.unit and subject.units else ""
    )
    return "\n".join(filter(None, [f"{duration(subject.time_ns)} per call", units]))


def _times(case: Case, looks: Mapping[str, Look]) -> Bars:
    subjects = [each for each in ranked(case.subjects) if _time(each)]
    times = [_time(each) for each in subjects]
    series = BarSeries(
        "", times, [duration(each) for each in times], colors=[looks[each.name].color for each in subjects]
    )
    return bars([each.name for each in subjects], [series], "time per call", time_unit(times))


def _time(subject: Subject) -> float:
    return max(subject.time_ns or 0.0, 0.0)


# ---------------------------------------------------------------- below the table


def _legends(subjects: Sequence[Subject]) -> list[str]:
    """Which figures come from which calls, and which are uncertain or missing."""
    if not any(subject.blocks for subject in subjects):
        return []
    uncertain = any(is_uncertain(subject, key) for subject in subjects for key in _PERCENTILES)
    missing = sorted(
        P99_CALLS - len(subject.call_ns)
        for subject in subjects
        if subject.mean_ns is not None and subject.p99_ns is None and len(subject.call_ns) < P99_CALLS
    )
    with_pauses = any(block.span_ns is not None for subject in subjects for block in subject.blocks[:1])
    least = f"{missing[0]} to " if missing and missing[0] < missing[-1] else ""
    return [
        "time: undisturbed time of a call",
        "p50 to max: single calls",
        *([f"{ABOUT}: uncertain by more than 15 %"] if uncertain else []),
        "mean: of blocks, ± their deviation",
        *(["CPU: pauses included"] if with_pauses else []),
        "load: opening the session",
        "first: first call",
        *([f"p99 needs {least}{count(missing[-1], 'more call')}"] if missing else []),
    ]


def _reasons(cases: Cases) -> list[Line]:
    """Why subjects failed, unless the answer says so; a page has that among what limits the answer."""
    lines = []
    for label, case in cases.items():
        unsaid = [each for each in case.subjects if each.reason and each.reason not in case.answer]
        for status in dict.fromkeys(subject.status for subject in unsaid):
            texts = with_reasons((each.name, each.reason) for each in unsaid if each.status == status)
            place = f"{label}, " if label else ""
            lines += [Line(f"{place}{text}", STATUS_STYLES.get(status, "red"), indent=2, on="screen") for text in texts]
    return lines
