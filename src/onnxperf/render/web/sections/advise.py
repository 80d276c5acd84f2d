"""Advice on a page: what every trial gave, in time, in CPU time and in memory."""

from __future__ import annotations

from onnxperf.records.advice import FASTER, Advice, TrialOutcome, Tried
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.web.forest import BLUE, GREEN, GREY, PINK, YELLOW, Forest, ForestMark, forest_chart, has_marks
from onnxperf.render.web.old_base import Part, Section
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import count, factor, interval, ratio

_COLOURS: dict[TrialOutcome, int] = {
    "gain": GREEN,
    "unexplained": GREEN,
    "trade": PINK,
    "undecided": YELLOW,
    "none": BLUE,
    "untried": GREY,
}
_WORDS: dict[TrialOutcome, str] = {
    "gain": "gain",
    "unexplained": "faster, but not because of the hazard",
    "trade": "trade",
    "undecided": "undecided",
    "none": "no gain",
    "untried": "not tried",
}


def advise_sections(advice: Advice) -> list[Section]:
    """The trials, each once, whatever hazards they are against."""
    tried = list({each.trial.key: each for each in reversed(advice.tried)}.values())[::-1]
    forest = Forest([_estimate(each) for each in sorted(tried, key=lambda each: -(each.speedup or 0.0))])
    if not has_marks(forest):
        return []
    gains = sum(each.outcome in FASTER for each in tried)
    summary = (
        f"Speedups of {count(len(tried), 'trial')} over the session as it is, with intervals for all trials together; "
        f"{gains} helped. Right of 1 is faster; a trade saves CPU time or memory and is slower."
    )
    chart = forest_chart("What each remedy gave", summary, "speedup", [forest], _table(tried))
    parts: list[Part] = [chart]
    return [Section("Trials", parts)]


def _estimate(tried: Tried) -> ForestMark:
    others = (("CPU time", tried.cpu_ratio), ("memory", tried.memory_ratio))
    more = [f"{name} {ratio(value)} of the usual" for name, value in others if value is not None]
    status = "" if tried.status == "ok" else tried.status
    word = " · ".join(filter(None, [_WORDS[tried.outcome] if not status else "", status]))
    more_text = "\n".join(filter(None, [*more, visible(tried.reason)]))
    ends = (tried.speedup_low, tried.speedup_high)
    return ForestMark(tried.trial.name, tried.speedup, *ends, _COLOURS[tried.outcome], word, more_text)


def _table(trials: list[Tried]) -> Table:
    columns = [Column("trial", left=True), Column("speedup"), Column("interval"), Column("CPU time"), Column("memory")]
    columns += [Column("result", left=True), Column("why", left=True)]
    rows = [
        Row(
            [
                name_of(each.trial.name),
                ratio(each.speedup),
                interval(each.speedup_low, each.speedup_high),
                factor(each.cpu_ratio) if each.cpu_ratio is not None else "",
                factor(each.memory_ratio) if each.memory_ratio is not None else "",
                _estimate(each).word,
                visible(each.reason),
            ]
        )
        for each in trials
    ]
    return without_empty(Table(columns, rows))
