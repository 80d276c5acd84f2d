"""The histories of all models as an overview: the level now, the last change, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from onnxperf.analyze.judges.history import judge_history
from onnxperf.records.history import FEWEST_POINTS, History, HistoryPoint, HistorySeries, StoredSubject
from onnxperf.records.overview import Concern, GateNow, ModelNow, Trend
from onnxperf.wording.names import dims_text
from onnxperf.wording.numbers import count

_FINE = ("ok", "differs", "skipped")


def histories_by_model(stored: Iterable[StoredSubject], min_effect: float, newest: int | None) -> list[History]:
    """The histories of all models, by label, each limited to the newest runs of a series."""
    by_model: dict[str, list[StoredSubject]] = {}
    for subject in stored:
        by_model.setdefault(subject.model, []).append(subject)
    return [judge_history(model, by_model[model], None, min_effect, newest) for model in sorted(by_model)]


def models_now(histories: Iterable[History]) -> Iterator[ModelNow]:
    """A row per model and case."""
    for history in histories:
        cases: dict[str, list[HistorySeries]] = {}
        for series in history.series:
            if series.points:
                cases.setdefault(dims_text(series.dims), []).append(series)
        for several in cases.values():
            lead = max(several, key=lambda each: (newest_of(each).started, each.runs()))
            yield _row(history.model, lead, len(several) - 1)


def _row(model: str, series: HistorySeries, others: int) -> ModelNow:
    newest = newest_of(series)
    change = series.changes[-1] if series.changes else None
    return ModelNow(
        model=model,
        series=series,
        others=others,
        time_ns=series.level_ns,
        trend=trend_of(series),
        change=change,
        run=newest.run,
        started=newest.started,
    )


def newest_of(series: HistorySeries) -> HistoryPoint:
    """The run that began last; points are in the order in which they are averaged."""
    return max(series.points, key=lambda each: each.started)


def trend_of(series: HistorySeries) -> Trend:
    """What the last change point says."""
    if series.changes:
        return "slower" if series.changes[-1].ratio > 1 else "faster"
    return "equivalent" if series.averages >= FEWEST_POINTS else "undecided"


def concerns_of(histories: Sequence[History], gates: Sequence[GateNow]) -> list[Concern]:
    """What needs attention, newest first; each model once per kind."""
    found = [*_slower(histories), *_failed(histories), *_gated(gates)]
    return sorted(found, key=lambda each: each.started, reverse=True)


def _slower(histories: Iterable[History]) -> Iterator[Concern]:
    """Models of which a series became slower: the series that did so last."""
    for history in histories:
        slower = [each for each in history.series if trend_of(each) == "slower"]
        if slower:
            last = max(slower, key=lambda each: (each.changes[-1].first_after.started, each.changes[-1].ratio))
            yield _concern("slower", history, last, last.changes[-1].first_after, last.answer, len(slower) - 1)


def _failed(histories: Iterable[History]) -> Iterator[Concern]:
    """Models of which the newest run of a series failed."""
    for history in histories:
        newest = {id(each): newest_of(each) for each in history.series if each.points}
        failed = [each for each in history.series if each.points and newest[id(each)].status not in _FINE]
        if failed:
            last = max(failed, key=lambda each: newest[id(each)].started)
            run = newest[id(last)]
            yield _concern("failed", history, last, run, f"{run.status} in its newest run", len(failed) - 1)


def _concern(what: Any, history: History, series: HistorySeries, run: HistoryPoint, text: str, more: int) -> Concern:
    """A series by what sets it apart; others of the same model are only counted."""
    named = [series.name, dims_text(series.dims)] if len(history.series) > 1 else [dims_text(series.dims)]
    also = f", and {count(more, 'other series', 'other series')}" if more else ""
    sentence = f"{', '.join(filter(None, named))}: {text}{also}".removeprefix(": ")
    return Concern(what=what, model=history.model, text=sentence, run=run.run, started=run.started)


def _gated(gates: Sequence[GateNow]) -> Iterator[Concern]:
    """Models whose latest gate did not pass."""
    latest: Mapping[str, GateNow] = {each.model: each for each in reversed(gates)}
    for gate in latest.values():
        if gate.outcome in ("failed", "undecided"):
            what: Any = f"gate {gate.outcome}"
            yield Concern(what=what, model=gate.model, text=gate.answer, run=gate.run, started=gate.started)
