"""`onnxperf.rewrite_einsum`: Einsum nodes of a model replaced where that makes the whole model faster."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import onnx
from msgspec.structs import replace

from onnxperf.analyze.answers.einsum import einsum_reason, rewrite_answer
from onnxperf.analyze.judges.agreement import disagreement
from onnxperf.analyze.judges.einsum import is_decided, is_gain, outcome_of, reason_of, sites_written, time_ratio
from onnxperf.api._shared.einsum_plans import DEFAULT_TIME_S, EINSUM, plan_for, request_for
from onnxperf.api._shared.einsum_reading import Graphs, einsums_in, write_replaced
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.outputs import outputs_of
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import judged_case, run_race, start_of, visible_options
from onnxperf.api._shared.recordings import FOLDER_OPTION
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry, open_entries, ort_spec
from onnxperf.contraction.equation import parse
from onnxperf.contraction.rewrite import Site
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import Progress
from onnxperf.options.functions import REWRITE_EINSUM
from onnxperf.records.comparison import Comparison
from onnxperf.records.einsum import Rewrite, RewrittenSite
from onnxperf.records.options import RaceOptions, Tolerances, WorkerLimits
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.files import check_folder
from onnxperf.render.kit.model_files import write_model
from onnxperf.results.rewrite import RewriteResult

BEFORE, AFTER = "original", "rewritten"
_SHORTEST_S = 0.5
"""Of a search, or of a race; what has less is not tried."""
_RACING_SHARE = 0.7
"""Part of the time of a race that is left after its start."""


@public(REWRITE_EINSUM)
def rewrite_einsum(
    model: Source,
    output: str | Path,
    feeds: Mapping[str, Any] | None = None,
    *,
    portable: bool,
    search: bool,
    settings: Settings,
    progress: Progress = automatic,
) -> RewriteResult:
    """Replace Einsum nodes by the fastest graphs for their shapes, and write the model if that made it faster.

    A replacement is tried further only if the outputs are equal and the whole model wins its race. The model with all
    of these is raced once more, and written only if it is proven faster. The new graphs hold only for the shapes of
    these inputs, so the inputs of the written model are fixed to them. `time` is for all of it, in seconds; equations
    that it does not suffice for are skipped. After Ctrl-C nothing is written; the result has the findings so far.
    """
    begin = monotonic()
    check_folder(output)
    machine = machines.describe_machine()
    entry = open_entries(model, settings.inputs, feeds, settings.limits.timeout)[0]
    if Path(output).absolute() == entry.model.path:
        raise BadOption("that is the model itself; choose another name", option="output", value=output)
    plain = ort_spec(entry, settings.session)
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        options = visible_options(settings.race, machine.cpu)
        ends_s = None if options.time is None else begin + options.time
        trial = ModelTrial(entry, plain, Path(folder), options, settings.limits, progress, ends_s)
        attempt = _tried(trial, portable, search)
        rival, interrupted = _rival(attempt.case), attempt.interrupted
        written = is_gain(rival) and not interrupted
        problem = _problem_of_writing(entry, trial.written(AFTER, attempt.accepted), Path(output)) if written else ""
    record = Rewrite(
        model=entry.model.label,
        output=str(output) if written and not problem else "",
        sites=sites_written(attempt.sites, rival, interrupted),
        race=attempt.case,
        interrupted=interrupted,
        machine=machine,
        command="onnxperf.rewrite_einsum",
        notes=(*entry.feeds.notes, *([problem] if problem else _notes(entry) if written else ())),
        answer=rewrite_answer(entry.model.label, attempt.sites, rival, "" if problem else str(output), interrupted),
    )
    return RewriteResult(record)


@dataclass(frozen=True)
class ModelTrial:
    """A model, and what is needed to try it with some of its nodes replaced."""

    entry: Entry
    plain: WorkerSpec
    folder: Path
    options: RaceOptions
    limits: WorkerLimits
    progress: Progress
    ends_s: float | None = None
    """When the time for all of it is over; None if none was requested."""

    def slot_s(self, steps: int) -> float | None:
        """Seconds for the next of so many steps that are left; None if no time was requested."""
        return None if self.ends_s is None else (self.ends_s - monotonic()) / steps

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs, to which the model is fixed."""
        return {name: array.shape for name, array in self.entry.feeds.arrays.items()}

    def written(self, name: str, replacements: Graphs) -> Path:
        """A file with the model, its shapes fixed and these nodes replaced; weights stay where they are."""
        path = self.folder / f"{name}.onnx"
        write_replaced(self.entry.model, self.shapes, replacements, path)
        return path

    def spec(self, name: str, replacements: Graphs) -> WorkerSpec:
        """The model with these nodes replaced, under a name."""
        subject = replace(self.plain.subjects[0], name=name)
        path = self.written(name, replacements)
        places = {FOLDER_OPTION: str(self.entry.model.path.parent), **self.plain.session.options}
        session = replace(self.plain.session, options=places)
        return replace(self.plain, subjects=(subject,), model_path=str(path), session=session)

    def difference(self, replacements: Graphs) -> str:
        """How the outputs differ from those of the original; empty if they do not."""
        wanted = outputs_of(self.spec(BEFORE, {}), self.limits)
        return disagreement(outputs_of(self.spec(AFTER, replacements), self.limits), wanted, Tolerances())

    def race(self, before: Graphs, after: Graphs, steps: int = 1) -> Case:
        """The model with some nodes replaced against the model with others; it is the next of so many steps."""
        specs = [self.spec(BEFORE, before), self.spec(AFTER, after)]
        slot_s = self.slot_s(steps)
        options = self.options
        if slot_s is not None:
            options = replace(options, time=max(_RACING_SHARE * slot_s, _SHORTEST_S))
        end = run_race(specs, options, start_of(self.limits), self.progress)
        return replace(judged_case(end, options), model=self.entry.model.label)


# ---------------------------------------------------------------- sites


@dataclass(frozen=True)
class _Attempt:
    """What became of all sites of a model."""

    sites: tuple[RewrittenSite, ...]
    accepted: Graphs
    case: Case | None = None
    interrupted: bool = False


@dataclass(frozen=True)
class _How:
    """What graphs are looked for."""

    opset: int
    portable: bool
    search: bool


def _tried(trial: ModelTrial, portable: bool, search: bool) -> _Attempt:
    """Try one site after the other on top of those that were accepted, then race the whole model once more."""
    einsums = einsums_in(trial.entry.model, trial.shapes)
    sites = einsums.sites
    found: list[RewrittenSite] = []
    accepted: Graphs = {}
    how = _How(einsums.opset, portable, search)
    try:
        for site in sites:
            steps = 2 * (len(sites) - len(found)) + 1  # a search and a race for each, and the last race
            row, accepted = _try(site, trial, accepted, how, steps)
            found.append(row)
        case = trial.race({}, accepted) if accepted else None
    except KeyboardInterrupt:
        left = [replace(_untried(site), reason=site.reason or "interrupted") for site in sites[len(found) :]]
        return _Attempt((*found, *left), accepted, interrupted=True)
    return _Attempt(tuple(found), accepted, case, case is not None and case.interrupted)


def _untried(site: Site) -> RewrittenSite:
    return RewrittenSite(
        nodes=site.names,
        equation=site.equation,
        shapes=site.shapes or (),
        dtype=site.dtype,
        outcome="skipped",
        reason=site.reason,
    )


def _try(site: Site, trial: ModelTrial, accepted: Graphs, how: _How, steps: int) -> tuple[RewrittenSite, Graphs]:
    """Find the fastest graph for a site, and see whether the model gains from it."""
    row = _untried(site)
    if site.reason or site.shapes is None:
        return row, accepted
    slot_s = trial.slot_s(steps)
    if slot_s is not None and slot_s < _SHORTEST_S:
        return replace(row, reason="no `time` was left for it"), accepted
    equation = parse(site.equation, site.shapes)
    threads = trial.plain.threads
    request = request_for(equation, site.dtype, "ort", threads, opset=how.opset, portable=how.portable)
    time = DEFAULT_TIME_S if slot_s is None else slot_s
    plan = plan_for(request, search=how.search, time=time, limits=trial.limits, progress=trial.progress)
    _stop_if(plan.interrupted)
    # Where the equation alone is undecided, the race of the whole model may still decide.
    graph, proposed = (
        (plan.record.graph, plan.onnx) if is_decided(plan.record) else (plan.record.decomposed, plan.decomposed)
    )
    alone = time_ratio(plan.record.race, EINSUM, plan.record.winner)
    row = replace(row, graph=graph, speedup_alone=alone, outcome="kept")
    if graph.startswith("Einsum"):
        return replace(row, reason=einsum_reason(plan.record)), accepted
    with_site = {**accepted, **dict.fromkeys(site.nodes, proposed.SerializeToString())}
    if wrong := trial.difference(with_site):
        return replace(row, reason=wrong), accepted
    case = trial.race(accepted, with_site, steps - 1)
    _stop_if(case.interrupted)
    rival = _rival(case) or Subject(name=AFTER, status="failed")
    outcome, reason = outcome_of(rival)[0], reason_of(rival)
    found = Comparison.spelled(rival, "speedup")
    row = replace(row, outcome=outcome, reason=reason, **found.named("speedup"))
    return row, with_site if outcome == "rewritten" else accepted


def _stop_if(interrupted: bool) -> None:
    """A Ctrl-C that a search or a race answered with what it had ends the rewriting, too."""
    if interrupted:
        raise KeyboardInterrupt


def _rival(case: Case | None) -> Subject | None:
    subjects = case.subjects if case is not None else ()
    return next((subject for subject in subjects if subject.name == AFTER), None)


# ---------------------------------------------------------------- the written model


def _problem_of_writing(entry: Entry, rewritten: Path, output: Path) -> str:
    """Write the model with its weights; it is parsed here for the first time, after it ran and won."""
    proto = onnx.load(rewritten, load_external_data=False)
    onnx.load_external_data_for_model(proto, str(entry.model.path.parent))
    try:
        write_model(proto, output, entry.model.size_bytes)
    except FileNotWritten as error:  # the races are not lost
        return str(error)
    return ""


def _notes(entry: Entry) -> Sequence[str]:
    shapes = ", ".join(f"{name}={'x'.join(map(str, array.shape))}" for name, array in entry.feeds.arrays.items())
    return [f"the written model holds only for these shapes: {shapes}"]
