"""Candidates: ways to run one model, raced against the first of them, their outputs compared with its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.outputs import compared
from onnxperf.api._shared.racing import judged_case, run_race, start_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, only_setup
from onnxperf.api._shared.subjects import Entry, check_names, model_specs, with_ready_inputs
from onnxperf.api._shared.variants import Variant, named_settings, session_of
from onnxperf.errors import BadOption
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import Progress, Settled
from onnxperf.measure.worker_group import Launch
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.race import Case

OWN_KEYWORDS = ("threads", "provider", "opt_level", "env")
"""Settings that are options by themselves."""


@dataclass(frozen=True)
class RunCandidate:
    """One way to run a model."""

    name: str
    """What its row is called."""
    session: SessionOptions
    """How its session is set up."""
    call: str = "run"
    """How it is called."""
    runtime: str = "ort"
    """What executes it."""
    path: Path | None = None
    """A rewritten model with the same inputs and outputs; None: the model itself."""
    ready_inputs: bool = False
    """Inputs are cast and made contiguous before the calls, so that no call copies them."""


def start_of_search(settings: Settings, call: str = "run") -> Setup:
    """The session of onnxruntime that a search starts from: that of the options, or of the only variant."""
    setup = only_setup("ort", call, settings)
    if setup.runtime != "ort":
        problem = f"a search starts from a session of onnxruntime, not of {setup.runtime}"
        raise BadOption(problem, option="variants", value=setup.name)
    if len(setup.calls) > 1:
        raise BadOption("a search starts from one call style", option="variants", value=setup.name)
    return setup


def session_keywords(variant: Variant) -> dict[str, Any]:
    """The keywords of a public function that stand for the session of a variant."""
    named: dict[str, Any] = dict(named_settings(variant.session))
    own = {name: named.pop(name) for name in OWN_KEYWORDS if name in named}
    unchecked = {name: named.pop(name) for name in variant.unchecked if name in named}
    return {**own, "options": named, "options_unchecked": unchecked}


def changed(session: SessionOptions, settings: Mapping[str, str]) -> SessionOptions:
    """A session with some settings changed, by the names that users give them; another provider has other options."""
    kept = named_settings(session)
    if "provider" in settings:
        kept = {name: value for name, value in kept.items() if not name.startswith("provider.")}
    return session_of({**kept, **settings}, frozenset(session.options))


def spec_of(entry: Entry, candidate: RunCandidate) -> WorkerSpec:
    """The worker of a candidate."""
    return _spec(_entry_of(entry, candidate), [candidate])


def race_candidates(
    entry: Entry,
    candidates: Sequence[RunCandidate],
    settings: Settings,
    options: RaceOptions,
    progress: Progress,
    enough: Settled | None = None,
    launch: Launch | None = None,
) -> Case:
    """Race candidates; the first is the baseline, and one whose outputs are not its outputs has the status `differs`.

    Those that only call the same session in another way share a process. Ctrl-C returns the results so far,
    `interrupted`.
    """
    options = replace(options, baseline=candidates[0].name)
    groups = by_session(candidates)
    entries = [_entry_of(entry, each[0]) for each in groups]  # rewritten models: kept until the race is over
    specs = [_spec(own, each) for own, each in zip(entries, groups, strict=True)]
    check_names(specs, options.baseline)
    end = run_race(specs, options, launch or start_of(settings.limits), progress, settings.tolerances.check, enough)
    equality = compared(end, specs, [entry], settings.tolerances)
    case = judged_case(end, options, equality.differing)
    return replace(
        case,
        model=entry.model.label,
        fingerprint={entry.model.label: entry.model.fingerprint},
        dims=entry.feeds.dims,
        shapes={name: array.shape for name, array in entry.feeds.arrays.items()},
        notes=(*entry.feeds.notes, *equality.notes, *case.notes),
    )


def by_session(candidates: Sequence[RunCandidate]) -> list[list[RunCandidate]]:
    """Candidates that can share a worker, in the order of the first of each."""
    groups: list[list[RunCandidate]] = []
    for each in candidates:
        own = next((group for group in groups if _session_of(group[0]) == _session_of(each)), None)
        if own is None:
            groups.append([each])
        else:
            own.append(each)
    return groups


def _session_of(candidate: RunCandidate) -> tuple[object, ...]:
    return candidate.session, candidate.runtime, candidate.path, candidate.ready_inputs


def _entry_of(entry: Entry, candidate: RunCandidate) -> Entry:
    if candidate.ready_inputs:
        entry = with_ready_inputs(entry)
    if candidate.path is None:
        return entry
    return dataclasses.replace(entry, model=open_source(candidate.path, entry.model.label), twin=entry)


def _spec(entry: Entry, candidates: Sequence[RunCandidate]) -> WorkerSpec:
    """A worker of candidates that share a session."""
    first = candidates[0]
    calls = tuple(each.call for each in candidates)
    spec = model_specs([entry], [Setup(first.runtime, calls, first.session)])[0]
    subjects = zip(spec.subjects, candidates, strict=True)
    return replace(spec, subjects=tuple(replace(each, name=candidate.name) for each, candidate in subjects))
