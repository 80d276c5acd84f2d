"""The rows of the overview in words: what a team reads of each model, concern and gate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.history import ChangePoint, HistorySeries
from onnxperf.records.overview import Concern, GateNow, ModelNow
from onnxperf.serve.templates import address, run_address
from onnxperf.wording.names import dims_text, visible
from onnxperf.wording.numbers import count, duration, interval, percent
from onnxperf.wording.verdicts import sign_of

_COMMIT = 8
CHIPS = {
    "slower": "red",
    "faster": "green",
    "equivalent": "dim",
    "undecided": "dim",
    "failed": "red",
    "passed": "green",
    "gate failed": "red",
    "gate undecided": "yellow",
}
"""Colors of chips; their words say the same."""
_FAILED = "✗"
"""The sign of failures in chips: the one of sentences is missing in many fonts."""
_FIRST = re.compile(r"(?<=\.) (?=[A-Z])")
"""Between sentences."""


class Chip(NamedTuple):
    """A word with its sign and color."""

    text: str
    style: str


class ModelRow(NamedTuple):
    """A model and case, as the table shows it."""

    name: str
    link: str
    case: str
    where: str
    machine: str
    time: str
    noise: str
    change: Chip
    within: str
    """Interval of the change."""
    series: HistorySeries
    since: str
    """Commit or run since which the time is what it is."""
    since_link: str
    since_day: str
    run: str
    started: str
    failed: str
    """Status of the newest run, if it failed."""


class Row(NamedTuple):
    """A concern or a gate."""

    chip: Chip
    model: str
    link: str
    text: str
    run: str
    started: str
    commit: str = ""


def model_rows(models: Sequence[ModelNow], filters: Mapping[str, str]) -> Iterator[ModelRow]:
    """A row per model and case; links keep the filters."""
    for now in models:
        series, newest = now.series, next((each for each in now.series.points if each.run == now.run), None)
        also = f"+ {count(now.others, 'series', 'series')}" if now.others else ""
        change = now.change
        yield ModelRow(
            name=visible(now.model),
            link=address("/history", model=now.model, **filters),
            case=visible(dims_text(series.dims)),
            where=visible(" · ".join(filter(None, [series.name, series.machine.split(", ")[0], also]))),
            machine=visible(series.machine),
            time=duration(now.time_ns),
            noise=f"±{percent(series.noise)}" if series.noise is not None else "",
            change=_change(now.trend, change),
            within=_within(change),
            series=series,
            since=_since(change),
            since_link=run_address(change.first_after.run) if change is not None else "",
            since_day=change.first_after.started[:10] if change is not None else "",
            run=now.run,
            started=now.started,
            failed=newest.status if newest is not None and newest.status not in ("ok", "differs", "skipped") else "",
        )


def _change(trend: str, change: ChangePoint | None) -> Chip:
    if change is None:
        words = {"equivalent": f"{sign_of('equivalent')} no change", "undecided": "too few runs"}[trend]
        return Chip(words, CHIPS[trend])
    size = percent(abs(change.ratio - 1))
    return Chip(f"{sign_of(trend)} {size} {trend}", CHIPS[trend])


def _within(change: ChangePoint | None) -> str:
    if change is None or change.ratio_low is None:
        return ""
    return f"after / before {interval(change.ratio_low, change.ratio_high)} (95 % CI)"


def _since(change: ChangePoint | None) -> str:
    if change is None:
        return ""
    first = change.first_after
    return visible(first.commit[:_COMMIT] or f"run {first.run}")


def attention_rows(concerns: Sequence[Concern], filters: Mapping[str, str]) -> Iterator[Row]:
    """What needs attention."""
    for each in concerns:
        is_gate = each.what.startswith("gate")
        link = run_address(each.run) if is_gate else address("/history", model=each.model, **filters)
        yield Row(_chip(each.what), visible(each.model), link, _short(each.text), each.run, each.started)


def gate_rows(gates: Sequence[GateNow]) -> Iterator[Row]:
    """The latest gates."""
    for each in gates:
        chip = _chip(f"gate {each.outcome}" if each.outcome == "undecided" else each.outcome or "unreadable")
        chip = chip._replace(text=chip.text.replace("gate ", ""))
        commit = visible(each.commit[:_COMMIT])
        yield Row(chip, visible(each.model), run_address(each.run), _short(each.answer), each.run, each.started, commit)


def _chip(what: str) -> Chip:
    word = what.removeprefix("gate ")
    sign = _FAILED if word == "failed" else sign_of(word)
    return Chip(f"{sign} {what}".strip(), CHIPS.get(what, "dim"))


def _short(text: str) -> str:
    """The first sentence: the report has the others."""
    return visible(_FIRST.split(text)[0])
