"""`onnxperf.advise`: what costs time or memory in a model, and what is gained by a remedy, measured by trying it."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.advise import advise_answer, notes_on
from onnxperf.analyze.answers.profile import profile_answer
from onnxperf.analyze.hazards.base import Facts
from onnxperf.analyze.hazards.table import hazards_in
from onnxperf.analyze.judges.advice import Attempt, best_rewrite, judged_trials, ranked, to_repeat, with_repeat
from onnxperf.api._advice.budget import AdviceBudget
from onnxperf.api._advice.facts import facts_of
from onnxperf.api._advice.trials import RemedyTrials, TrialRaces
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.progress import automatic, part_of
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.recordings import notes_on_load
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, interpreter_of
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.api._tuning.candidates import session_keywords, start_of_search
from onnxperf.errors import FileNotWritten
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.options.functions import ADVISE
from onnxperf.options.next_command import given as changed_options
from onnxperf.options.next_command import next_command
from onnxperf.options.shared import Inputs
from onnxperf.records.advice import FASTER, Advice, Hazard, OperatorShare, Tried
from onnxperf.records.profile import Profile
from onnxperf.render.kit.files import check_folder
from onnxperf.results.advise import AdviseResult

_FACTS, _RACE, _REPEAT = 0.1, 0.8, 0.9
"""Parts of the progress at which the facts are known, the races are over, and what was doubted is measured again."""
_OF_INPUTS = tuple(name for name in Inputs.declared if name != "feeds")
"""Options that another command has, too."""


@public(ADVISE)
def advise(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    time: float,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> AdviseResult:
    """Find what costs time or memory in a model, and try remedies; Ctrl-C returns the results so far.

    The model is profiled and inspected, then every remedy of every hazard races the session as it is: first all of
    them, then those that may help. Verdicts share the error probability of one race. A gain larger than the share of
    its hazard allows is measured again. `time` is for all of it, opening sessions included. A remedy whose outputs
    differ is not recommended. `output` is a file for the model with the rewrite that gained most, if one did.
    """
    if output is not None:
        check_folder(output)
    setup = start_of_search(settings)
    interpreter_of(setup.session)  # building an environment does not count
    budget = AdviceBudget(time, monotonic())
    machine = machines.describe_machine()
    settings = dataclasses.replace(settings, race=visible_options(settings.race, machine.cpu))
    entry = open_entries(model, settings.inputs, feeds, settings.limits.timeout)[0]
    facts, interrupted, budget.opening_s = facts_of(entry, settings, setup, part_of(progress, 0.0, _FACTS))
    hazards = hazards_in(facts)
    record = Advice(
        model=entry.model.label,
        fingerprint=entry.model.fingerprint,
        dims=dict(entry.feeds.dims),
        session=setup.session,
        command="onnxperf.advise",
        notes=tuple(entry.feeds.notes),
        operators=_operators(facts.profile),
        where=profile_answer(facts.profile),
        overhead=facts.profile.overhead,
    )
    request = _Request(entry, settings, setup, budget, None if output is None else Path(output), progress)
    record = _tried(record, request, facts, hazards, interrupted)
    record = replace(ranked(record), machine=machines.after_the_race(machine))
    notes = (*record.notes, *notes_on(record), *filter(None, [budget.note]))
    record = replace(record, notes=tuple(dict.fromkeys((*notes, *notes_on_load(facts.profile, notes)))))
    if not record.interrupted and not any(each.outcome in FASTER for each in record.tried):
        record = replace(record, next_command=_next_command(model, feeds, given, settings))
    return AdviseResult(replace(record, answer=advise_answer(record)), output is None or bool(record.output))


def _operators(profile: Profile) -> tuple[OperatorShare, ...]:
    """Where the time goes; the shares add up to 1."""
    whole_us = profile.usual_nodes_us or 1.0
    return tuple(
        OperatorShare(op_name=each.op_name, nodes=each.nodes, time_us=each.usual_us, share=each.usual_us / whole_us)
        for each in sorted(profile.operators, key=lambda operator: -operator.usual_us)
    )


def _next_command(model: Source, feeds: Mapping[str, Any] | None, given: Mapping[str, Any], settings: Settings) -> str:
    """A search of settings; with settings of the user's own, how far from what the machine can do each node is."""
    inputs = {name: value for name, value in changed_options(given).items() if name in _OF_INPUTS}
    session = changed_options(session_keywords(settings.given[0]))
    if session:
        return next_command("profile", model, feeds or {}, {"roofline": True} | inputs | session)
    return next_command("tune", model, feeds or {}, inputs)


@dataclass(frozen=True)
class _Request:
    """What was requested of a model."""

    entry: Entry
    settings: Settings
    setup: Setup
    budget: AdviceBudget
    output: Path | None
    progress: Progress


def _tried(record: Advice, request: _Request, facts: Facts, hazards: Sequence[Hazard], interrupted: bool) -> Advice:
    """The record with what all trials gave."""
    from onnxperf.api._tuning.rewriting import rewritten

    races, needs = TrialRaces(None, None), dict[str, list[int]]()
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        setup = request.setup
        trials = RemedyTrials(
            request.entry,
            request.settings,
            setup.session,
            Path(folder),
            rewritten,
            request.budget,
            setup.calls[0],
        )
        try:
            if not interrupted:
                trials.add(hazards, part_of(request.progress, _FACTS, _FACTS))
                races = trials.race(facts.call_ns, part_of(request.progress, _FACTS, _RACE))
                races = _with_repeat(races, trials, part_of(request.progress, _RACE, _REPEAT))
            if any(each is not None and each.interrupted for each in races):
                interrupted = True
            elif races.final is not None:
                needs = trials.needs(races.final, part_of(request.progress, _REPEAT, 1.0))
        except KeyboardInterrupt:
            interrupted = True
        attempts = [*trials.attempts, *_missing(hazards, trials.attempts)]
        tried = judged_trials(attempts, races.final, needs, races.screening)
        tried = with_repeat(attempts, tried, races.repeat)
        tried = tuple(replace(each, reason=request.budget.of_whole(each.reason)) for each in tried)
        record = _written(record, trials, tried, request.output)
    return replace(
        record,
        notes=(*record.notes, *trials.notes),
        hazards=tuple(hazards),
        tried=tried,
        races=tuple(each for each in races if each is not None),
        interrupted=interrupted,
    )


def _with_repeat(races: TrialRaces, trials: RemedyTrials, progress: Progress) -> TrialRaces:
    """The races, and one more of gains that are larger than the share of their hazard allows."""
    if races.final is None or races.final.interrupted:
        return races
    doubted = to_repeat(trials.attempts, judged_trials(trials.attempts, races.final, {}, races.screening))
    return races._replace(repeat=trials.repeat(doubted, races.final, progress)) if doubted else races


def _written(record: Advice, trials: RemedyTrials, tried: Sequence[Tried], output: Path | None) -> Advice:
    """The record with the file of the best rewrite; measurements are not lost if it cannot be written."""
    best = best_rewrite(tried)
    if output is None:
        return record
    if best is None:
        return replace(record, notes=(*record.notes, f"no rewrite of the model helped: {output} was not written"))
    try:
        trials.keep(best.rewrite, output)
    except FileNotWritten as error:
        return replace(record, notes=(*record.notes, str(error)))
    return replace(record, output=str(output))


def _missing(hazards: Sequence[Hazard], attempts: Sequence[Attempt]) -> list[Attempt]:
    """Trials that Ctrl-C left without an attempt."""
    known = {(each.hazard.kind, each.trial.name) for each in attempts}
    several = [(hazard, trial) for hazard in hazards for trial in hazard.trials]
    return [Attempt(hazard, trial, "") for hazard, trial in several if (hazard.kind, trial.name) not in known]
