"""Whether a model meets its limits relative to a baseline measured in another run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.judges import statistics as st
from onnxperf.analyze.judges.gate import broken, instructions_limit, side_of
from onnxperf.analyze.judges.pairing import paired
from onnxperf.analyze.judges.yardstick import (
    BETWEEN_RUNS,
    MOST_DRIFT,
    RunChange,
    change_of,
    has_yardsticks,
    weakness,
)
from onnxperf.errors import BadOption
from onnxperf.records.base import Machine, Scalar
from onnxperf.records.gate import NEW, GateLimit
from onnxperf.records.race import ALPHA, Case, Measurement, Subject
from onnxperf.records.sweep import time_of
from onnxperf.wording.names import dims_text, listed
from onnxperf.wording.numbers import count, ratio, significant

_OF_VERSIONS = "onnxruntime"
"""The condition that may differ: comparing versions is often the purpose of a gate."""
_AGAIN = "base.json"
_INCLUDED = (
    "the interval includes the limit, as separate runs differ by about "
    f"{significant(100 * BETWEEN_RUNS)} %: race both models, or set a larger `max_slowdown`"
)
_CONTRADICTED = (
    "the fastest calls and all calls are on different sides of the limit: its times, or those of the record, vary "
    "too much; race both models"
)
_KNOWN = 1000
"""Degrees of freedom of an error known from many runs."""
_LEAST_NS = 1e-3
"""Minimum of a mean, to avoid the logarithm of 0."""


class RecordedRun(Struct, frozen=True, kw_only=True):
    """A recorded run used as a baseline."""

    name: str
    """Name: a file, or the id of a run."""
    machine: Machine | None
    cases: tuple[Case, ...]
    limits: tuple[GateLimit, ...] = ()
    """Its limits, if it is a gate."""
    is_gate: bool = False
    """Whether it is a gate; its new model is then the baseline."""


class RecordedSide(Struct, frozen=True, kw_only=True):
    """The subject in a case of a record that serves as the baseline."""

    run: RecordedRun
    case: Case
    subject: Subject


def sides_of(run: RecordedRun, call: str, label: str, wanted: str | None) -> list[RecordedSide]:
    """The baseline subject for every set of dimensions: the specified one, or the only one with this call style.

    If there are several, the one whose model has the same label as the new one.
    """
    found: list[RecordedSide] = []
    sizes = list(dict.fromkeys(tuple(case.dims.items()) for case in run.cases))
    for dims in sizes:
        cases = [case for case in run.cases if tuple(case.dims.items()) == dims]
        sides = [RecordedSide(run=run, case=case, subject=each) for case in cases for each in case.subjects]
        found += [_chosen(sides, run, call, label, wanted)] if sides else []
    if not found:
        raise BadOption(f"{run.name} has no measured subject", option="baseline")
    return found


def _chosen(sides: Sequence[RecordedSide], run: RecordedRun, call: str, label: str, wanted: str | None) -> RecordedSide:
    wanted = NEW if run.is_gate and wanted is None else wanted
    names = [side.subject.name for side in sides]
    if wanted is not None:
        named = [side for side in sides if side.subject.name == wanted]
        if len(named) != 1:
            raise BadOption.unknown(f"subject of {run.name}", wanted, names, option="baseline_subject")
        return named[0]
    alike = [side for side in sides if (side.subject.runtime, side.subject.call) == ("ort", call)]
    own = [side for side in alike if label in (side.subject.model, side.subject.name)]
    if len(alike) != 1 and len(own) != 1:
        problem = f"{count(len(alike), 'subject')} of {run.name} called onnxruntime by {call}"
        raise BadOption(f"{problem}; choose one with `baseline_subject`: {listed(names)}", option="baseline")
    return alike[0] if len(alike) == 1 else own[0]


def side_for(case: Case, sides: Sequence[RecordedSide]) -> RecordedSide | None:
    """The baseline of a case: the one with the same dimensions."""
    return next((side for side in sides if side.case.dims == case.dims), None)


class _Found(NamedTuple):
    """Facts about one case before all cases are judged together."""

    limits: list[GateLimit]
    """Limits, time first; if there is a change, time is not yet judged."""
    change: RunChange | None = None
    by_means: st.Estimate | None = None
    """The same from all calls instead of the fastest."""


def recorded_limits(
    cases: Sequence[Case], sides: Sequence[RecordedSide], machine: Machine, max_slowdown: float
) -> list[GateLimit]:
    """Limits of time and instructions from races of the new model with itself and a record of the baseline."""
    found = [_found(case, sides, machine, max_slowdown) for case in cases]
    changes = [each.change.estimate for each in found if each.change is not None]
    at_limit = [each._replace(value=each.value - math.log1p(max_slowdown)) for each in changes]
    levels = iter(st.holm_levels([each.p_value for each in at_limit], [ALPHA] * len(at_limit)))
    limits: list[GateLimit] = []
    for each in found:
        if each.change is None:
            limits += each.limits
        else:
            judged = _judged(each.limits[0], each.change, each.by_means, next(levels))
            limits += [judged, *each.limits[1:]]
    return limits


def _found(case: Case, sides: Sequence[RecordedSide], machine: Machine, max_slowdown: float) -> _Found:
    new = next((each for each in case.subjects if each.name == NEW), None)
    limit = GateLimit(measure="time", dims=case.dims, limit=1 + max_slowdown)
    if new is None:
        return _Found([replace(limit, reason=case.answer or "nothing was measured")])
    if new.status != "ok":
        return _Found([broken(case, new)])
    side = side_for(case, sides)
    if side is None:
        known = listed(dict.fromkeys(dims_text(each.case.dims) or "none" for each in sides))
        return _Found([replace(limit, reason=f"{sides[0].run.name} has other dimensions: {known}")])
    limit = replace(limit, baseline=time_of(side.subject), new=time_of(new))
    unlike = _unlike(case, side, new, machine)
    if unlike:
        return _Found([replace(limit, reason=unlike)])
    counted = instructions_limit(case, side.subject, new, max_slowdown)
    change = change_of(side.subject, new, side.case, case)
    unknown = _unknown(change, case, side, new)
    if unknown:
        return _Found([replace(limit, reason=unknown), *counted])
    return _Found([limit, *counted], change, _by_means(case, side, new))


def _unknown(change: RunChange | None, case: Case, side: RecordedSide, new: Subject) -> str:
    """Why there is no valid ratio; empty if there is one."""
    if side.case.yardstick is None:
        again = f"measure its model again with this version of onnxperf (`onnxperf bench MODEL -o {_AGAIN}`)"
        return f"{side.run.name} has no yardstick to compare by: {again}"
    if not has_yardsticks(side.case, case):
        return "the yardstick could not be measured now"
    if change is None:
        sides = {side.run.name: side.subject, "the new model": new, "the yardstick": case.yardstick or new}
        weak = [f"{name} {weakness(each)}" for name, each in sides.items() if weakness(each)]
        return next(iter(weak), f"the yardstick of {side.run.name} rests on too few launches")
    if not 1 / MOST_DRIFT < change.drift < MOST_DRIFT:
        state = "the machine was in another state, which does not affect all models equally"
        return f"the yardstick took {ratio(change.drift)} as long as then: {state}"
    return ""


def _by_means(case: Case, side: RecordedSide, new: Subject) -> st.Estimate | None:
    """The change based on means of launches, which is not biased if calls vary."""
    if case.yardstick is None or side.case.yardstick is None:
        return None
    now, then = (
        _log_mean(own).minus(_log_mean(by)) for own, by in ((new, case.yardstick), (side.subject, side.case.yardstick))
    )
    return now.minus(then).minus(st.Estimate(0.0, BETWEEN_RUNS, _KNOWN))


def _log_mean(subject: Measurement) -> st.Estimate:
    rounds = paired(subject, subject)
    return st.trimmed_mean(np.log(np.maximum(st.by_unit(np.mean, rounds.ours, rounds.units), _LEAST_NS)))


def _judged(time: GateLimit, change: RunChange, by_means: st.Estimate | None, level: float) -> GateLimit:
    limit, (low, high) = time.limit or 1.0, change.interval(level)
    outcome = side_of(low, high, limit)
    reason = _INCLUDED if outcome == "undecided" else ""
    if by_means is not None and outcome != "undecided":
        low_mean, high_mean = map(math.exp, by_means.interval(level))
        of_means = side_of(low_mean, high_mean, limit)
        if of_means not in (outcome, "undecided"):
            outcome, reason = "undecided", _CONTRADICTED
    return replace(time, ratio=change.ratio, ratio_low=low, ratio_high=high, outcome=outcome, reason=reason)


def _unlike(case: Case, side: RecordedSide, new: Subject, machine: Machine) -> str:
    """Why a record is not comparable with this run; empty if it is."""
    run, then = side.run, side.run.machine
    if then is None or _processor(then) != _processor(machine):
        other = "an unknown processor" if then is None else f"another processor ({_words(then)})"
        return f"{run.name} was measured on {other}: only a race of both models can decide"
    if _minor(then.python) != _minor(machine.python):
        return f"{run.name} was measured with Python {then.python}, but this is {machine.python}"
    if side.subject.status not in ("ok", "differs") or not side.subject.blocks:
        return f"{side.subject.name} of {run.name} was not measured: {side.subject.reason or side.subject.status}"
    if case.shapes != side.case.shapes:
        return f"the inputs of {run.name} had other names or shapes"
    unlike = _unlike_conditions(side.subject.conditions, new.conditions)
    return f"{run.name} was measured under other conditions: {unlike}" if unlike else ""


def _unlike_conditions(then: Mapping[str, Scalar], now: Mapping[str, Scalar]) -> str:
    names = [name for name in {**then, **now} if name != _OF_VERSIONS and then.get(name) != now.get(name)]
    return ", ".join(f"{name} {then.get(name)} then, {now.get(name)} now" for name in names)


def _processor(machine: Machine) -> tuple[str, int, int]:
    return machine.cpu, machine.cores, machine.logical_cpus


def _words(machine: Machine) -> str:
    return f"{machine.cpu}, {count(machine.cores, 'core')}"


def _minor(version: str) -> list[str]:
    return version.split(".")[:2]


def recorded_notes(cases: Sequence[Case], sides: Sequence[RecordedSide]) -> list[str]:
    """Notes on the reliability of a comparison with a record."""
    notes = ["outputs were not compared: the baseline is a record"]
    for case in cases:
        side = side_for(case, sides)
        new = next((each for each in case.subjects if each.name == NEW), None)
        if side is None or new is None:
            continue
        change = change_of(side.subject, new, side.case, case)
        if change is not None:
            place = f" ({dims_text(case.dims)})" if len(cases) > 1 else ""
            took = f"the yardstick took {ratio(change.drift)} as long as then{place}"
            notes.append(f"{took}; both times were divided by it")
        notes += _on_versions(side.subject.conditions.get(_OF_VERSIONS), new.conditions.get(_OF_VERSIONS))
    return list(dict.fromkeys(notes))


def _on_versions(then: Scalar, now: Scalar) -> list[str]:
    if then == now:
        return []
    alike = "changes common to all models cancel out"
    return [f"onnxruntime was {then} then and is {now} now, also for the yardstick: {alike}"]
