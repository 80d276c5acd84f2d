"""`onnxperf.rewrite_einsum`: Einsum nodes of a model replaced where that makes the whole model faster."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import onnx
from msgspec.structs import replace

from onnxperf.analyze.accuracy import compare_outputs
from onnxperf.api._shared.racing import judged_case, run_race, start_of, visible_options, with_threads
from onnxperf.api._shared.recordings import FOLDER_OPTION
from onnxperf.api._shared.requests import RewriteKeywords, check_keywords, input_options, race_options, session_options
from onnxperf.api._shared.subjects import Entry, Source, model_specs, open_entries
from onnxperf.api.check import outputs_of
from onnxperf.api.optimize_einsum import EINSUM, RACE_S, plan_for, request_for
from onnxperf.contraction import rewrite
from onnxperf.contraction.equation import parse
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.race import Progress
from onnxperf.model.load import LARGEST_PROTO_BYTES
from onnxperf.records import Case, RaceOptions, Rewrite, RewrittenSite, Subject, WorkerLimits
from onnxperf.results.einsum import EinsumResult, RewriteResult

BEFORE, AFTER = "original", "rewritten"


def rewrite_einsum(
    model: Source,
    output: str | Path,
    *,
    feeds: Mapping[str, Any] | None = None,
    portable: bool = False,
    search: bool = True,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[RewriteKeywords],
) -> RewriteResult:
    """Replace Einsum nodes by the fastest graphs for their shapes, and write the model if that made it faster.

    A replacement is kept only if the outputs are equal and the whole model wins its race. The new graphs hold only
    for the shapes of these inputs, so the inputs of the written model are fixed to them.
    """
    check_keywords(keywords, RewriteKeywords)
    if not Path(output).absolute().parent.is_dir():
        raise BadOption(f"cannot write {str(output)!r}: its folder does not exist")
    machine = machines.describe_machine()
    options = visible_options(race_options(keywords), machine.cpu)
    session = with_threads(session_options(keywords))
    entry = open_entries(model, input_options(keywords), feeds)[0]
    if Path(output).absolute() == entry.model.path:
        raise BadOption(f"--output {output!s}: that is the model itself; choose another name")
    plain = model_specs([entry], {"ort": ("run",)}, session)[0]
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        bench = _Bench(entry, plain, Path(folder), options, progress)
        found, accepted = [], dict[int, onnx.ModelProto]()
        for site in rewrite.sites(entry.model.proto, bench.shapes):
            row, accepted = _try(site, bench, accepted, portable, search)
            found.append(row)
        case = bench.race({}, accepted) if accepted else None
    if accepted:
        _write(entry.model.path, bench.model(accepted), entry.model.size_bytes, Path(output))
    record = Rewrite(
        model=entry.model.label,
        output=str(output) if accepted else "",
        sites=tuple(found),
        race=case,
        machine=machine,
        command="onnxperf.rewrite_einsum",
        notes=(*entry.feeds.notes, *_notes(entry, bool(accepted))),
        answer=_answer(entry.model.label, found, case, str(output)),
    )
    return RewriteResult(record)


@dataclass(frozen=True)
class _Bench:
    """A model, and what is needed to try it with some of its nodes replaced."""

    entry: Entry
    plain: WorkerSpec
    folder: Path
    options: RaceOptions
    progress: Progress

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.entry.feeds.arrays.items()}

    def model(self, replacements: Mapping[int, onnx.ModelProto]) -> onnx.ModelProto:
        return rewrite.replaced(rewrite.fixed(self.entry.model.proto, self.shapes), replacements)

    def spec(self, name: str, replacements: Mapping[int, onnx.ModelProto]) -> WorkerSpec:
        """The model with fixed shapes and these nodes replaced, under a name; weights stay where they are."""
        subject = replace(self.plain.subjects[0], name=name)
        path = self.folder / f"{name}.onnx"
        path.write_bytes(self.model(replacements).SerializeToString())
        places = {FOLDER_OPTION: str(self.entry.model.path.parent), **self.plain.session.options}
        session = replace(self.plain.session, options=places)
        return replace(self.plain, subjects=(subject,), model_path=str(path), session=session)

    def difference(self, replacements: Mapping[int, onnx.ModelProto]) -> str:
        """How the outputs differ from those of the original; empty where they do not."""
        names, wanted = outputs_of(self.spec(BEFORE, {}))
        _, got = outputs_of(self.spec(AFTER, replacements))
        wrong = [each for each in compare_outputs(names, got, wanted) if not each.equal]
        return f"output {wrong[0].name} differs in {wrong[0].differing} elements" if wrong else ""

    def race(self, before: Mapping[int, onnx.ModelProto], after: Mapping[int, onnx.ModelProto]) -> Case:
        specs = [self.spec(BEFORE, before), self.spec(AFTER, after)]
        case = judged_case(run_race(specs, self.options, start_of(WorkerLimits()), self.progress), self.options)
        return replace(case, model=self.entry.model.label)


def _try(
    site: rewrite.Site, bench: _Bench, accepted: dict[int, onnx.ModelProto], portable: bool, search: bool
) -> tuple[RewrittenSite, dict[int, onnx.ModelProto]]:
    """Find the fastest graph for a site, and see whether the model gains from it."""
    row = RewrittenSite(
        nodes=site.names,
        equation=site.equation,
        shapes=site.shapes or (),
        dtype=site.dtype,
        outcome="skipped",
        reason=site.reason,
    )
    if site.reason or site.shapes is None:
        return row, accepted
    plan = _plan(site, bench, portable, search)
    row = replace(row, graph=plan.record.graph, speedup_alone=_alone(plan), outcome="kept")
    if plan.record.graph.startswith("Einsum"):
        return replace(row, reason="onnxruntime's Einsum is the fastest by itself"), accepted
    trial = accepted | dict.fromkeys(site.nodes, plan.onnx)
    if wrong := bench.difference(trial):
        return replace(row, reason=wrong), accepted
    rival = _rival(bench.race(accepted, trial))
    row = replace(row, speedup=rival.speedup, speedup_low=rival.speedup_low, speedup_high=rival.speedup_high)
    if rival.verdict == "faster":
        return replace(row, outcome="rewritten", reason="the whole model is faster"), trial
    why = {"slower": "the whole model is slower", "equivalent": "the whole model does not gain from it"}
    unsure = f"whether the whole model gains is {rival.verdict or rival.status}"
    return replace(row, reason=why.get(str(rival.verdict), unsure)), accepted


def _plan(site: rewrite.Site, bench: _Bench, portable: bool, search: bool) -> EinsumResult:
    opset = rewrite.opset_of(bench.entry.model.proto)
    parsed = parse(site.equation, site.shapes or ())
    request = request_for(parsed, site.dtype, "ort", bench.plain.threads, opset=opset, portable=portable)
    return plan_for(request, search, again=False, time=RACE_S, progress=bench.progress)


def _alone(plan: EinsumResult) -> float | None:
    """Speedup of the graph against onnxruntime's Einsum as written."""
    subjects = plan.record.race.subjects if plan.record.race is not None else ()
    medians = {subject.name: subject.median_ns for subject in subjects}
    base, own = medians.get(EINSUM), medians.get(plan.record.winner or "")
    return base / own if base and own else None


def _rival(case: Case) -> Subject:
    return next(subject for subject in case.subjects if subject.name == AFTER)


def _write(original: Path, proto: onnx.ModelProto, size_bytes: int, output: Path) -> None:
    """Write the model with its weights; those of a large model into a file beside it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    try:
        onnx.load_external_data_for_model(copy, str(original.parent))
        large = size_bytes > LARGEST_PROTO_BYTES // 2
        onnx.save_model(copy, output, save_as_external_data=large, location=f"{output.name}.data")
    except OSError as error:
        raise BadInput(f"cannot write {str(output)!r}: {error.strerror or error}") from error


def _notes(entry: Entry, written: bool) -> list[str]:
    shapes = ", ".join(f"{name}={'x'.join(map(str, array.shape))}" for name, array in entry.feeds.arrays.items())
    return [f"the written model holds only for these shapes: {shapes}"] if written else []


def _answer(label: str, sites: Sequence[RewrittenSite], case: Case | None, output: str) -> str:
    count = sum(len(site.nodes) for site in sites)
    if not count:
        return f"{label} has no Einsum node."
    done = sum(len(site.nodes) for site in sites if site.outcome == "rewritten")
    if case is None:
        return f"None of the {count} Einsum nodes of {label} was rewritten: the model would not gain."
    rival = _rival(case)
    gain = f"{rival.speedup:.3g} times as fast" if rival.speedup else "not measured"
    interval = ""
    if rival.speedup_low is not None and rival.speedup_high is not None:
        interval = f" (95 % interval {rival.speedup_low:.3g} to {rival.speedup_high:.3g})"
    return f"{done} of {count} Einsum nodes rewritten; {label} is {gain}{interval}; written to {output}."
