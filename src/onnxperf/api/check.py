"""`onnxperf.check`: do two models, two runtimes, or a model and its source, give the same results?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.answers.check import LEVELS, NO_NODE, draws_random_numbers, not_deterministic
from onnxperf.analyze.judges.accuracy import Form, compare
from onnxperf.analyze.judges.agreement import differences, disagreement, same_again, unlike_inputs
from onnxperf.api._shared.cells import Group, groups
from onnxperf.api._shared.outputs import drawn_in, outputs_of, steady_outputs, tensors_of
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import setups_of
from onnxperf.api._shared.sources import notes_on_calls, source_callables, sources_of
from onnxperf.api._shared.subjects import Entry, Sources, function_specs, model_specs, open_entries
from onnxperf.errors import BadInput, BadOption
from onnxperf.frameworks.base import FrameworkModel
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.model_reader import outline_of
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import CHECK
from onnxperf.records.check import Check, NodeDifference
from onnxperf.records.graph import GraphNode
from onnxperf.records.options import OptLevel
from onnxperf.results.check import CheckResult, NodeArrays

_TWO = "a check compares two models, two runtimes, two variants, or one model in one runtime with `against`"
_OF_SOURCES = ("device", "check_finite")
"""Options that change only how a source is called."""


@public(CHECK)
def check(
    model: Sources,
    feeds: Mapping[str, Any] | None = None,
    *,
    runtime: str | Sequence[str] | None,
    against: Any,
    nodes: bool,
    settings: Settings,
    given: Mapping[str, Any],
) -> CheckResult:
    """Run two models, two runtimes, or a model and its source on the same inputs, and compare every output.

    `model` may be a list or dict of two models: if their outputs differ, the first node that differs is found by the
    names of its outputs. `runtime` is "ort,numpy" for one model, and "ort" otherwise. `against` is a fitted
    scikit-learn estimator, a torch module, a Keras model, a callable of the feeds, or a text as `onnxperf bench
    --against` takes it. With `nodes`, every tensor of both sides is compared in the order of the graph, to find the
    first node that differs; `save("node.npz")` then writes its inputs and outputs.
    """
    sides = _sides(model, runtime, _one_source(against), feeds, settings)
    if nodes and sides.source:
        raise BadOption("`nodes` compares two models or runtimes; the source of a model has no nodes")
    if not sides.source:
        useless = {name: value for name, value in given.items() if name in _OF_SOURCES}
        refuse_useless(useless, (), "two models or runtimes")
    record = Check(
        model=", ".join(entry.model.label for entry in sides.entries),
        first=sides.names[0],
        second=sides.names[1],
        rtol=settings.tolerances.rtol,
        atol=settings.tolerances.atol,
        outputs=(),
        undecided=_random(sides),
        notes=(*sides.entries[0].feeds.notes, *sides.notes),
    )
    if record.undecided:
        return CheckResult(record)
    record, shared = _compared(record, sides, settings)
    if (nodes or (len(sides.entries) > 1 and not record.equal)) and not record.undecided:
        return _walked(record, sides, shared, settings)
    return CheckResult(record)


# ---------------------------------------------------------------- what is compared


@dataclass(frozen=True, eq=False)
class _Sides:
    """Two subjects on the same inputs."""

    entries: list[Entry]
    """One model or two."""
    specs: list[WorkerSpec]
    form: Form = "exact"
    source: bool = False
    """The second side is the source of the model."""
    make_again: Callable[[], WorkerSpec] | None = None
    """Makes the source once more, if it was named by a text."""
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """What both are called."""
        return [spec.subjects[0].name for spec in self.specs]


def _sides(
    model: Sources,
    runtime: str | Sequence[str] | None,
    against: Any,
    feeds: Mapping[str, Any] | None,
    settings: Settings,
) -> _Sides:
    group = _group(model, against)
    inputs = settings.inputs
    entries = open_entries(group.models, replace(inputs, ranges={**group.ranges, **inputs.ranges}), feeds)
    are_two = len(entries) > 1 or bool(group.sources) or len(settings.given) > 1
    setups = setups_of(runtime if runtime is not None else "ort" if are_two else "ort,numpy", "run", settings)
    if (len(entries), len(group.sources), len(setups)) not in ((2, 0, 1), (1, 1, 1), (1, 0, 2)):
        raise BadOption(_TWO)
    if len(entries) > 1:
        entries[1] = _fed_alike(*entries)
    specs = model_specs(entries, setups)
    if not group.sources:
        return _Sides(entries, specs)

    def made(sources: Mapping[str, Any]) -> tuple[WorkerSpec, dict[str, Callable[..., Any]]]:
        called = source_callables(sources, entries[0].feeds.arrays, settings.source.device)
        calls = dict(list(called.items())[:1])
        return function_specs(calls, entries[0].feeds, settings.session.threads, settings.source)[0], calls

    spec, calls = made(group.sources)
    form: Form = "precision" if any(isinstance(each, FrameworkModel) for each in calls.values()) else "table"
    again = (lambda: made(_group(model, against).sources)[0]) if isinstance(against, str) else None
    notes = tuple(notes_on_calls(calls))
    return _Sides(entries, [*specs, spec], form, source=True, make_again=again, notes=notes)


def _one_source(against: Any) -> Any:
    """The source; the command line gives a list of texts, of which there may be one."""
    if not isinstance(against, list) or not all(isinstance(each, str) for each in against):
        return against
    if len(against) > 1:
        raise BadOption("a check takes one source; check the others one by one", option="against", value=against[1])
    return against[0] if against else None


def _group(model: Sources, against: Any) -> Group:
    """The models and the source; a text is what the command line takes."""
    if isinstance(against, str):
        against = sources_of([against])
        if isinstance(against, dict):
            against = next(iter(against.values()))
    if isinstance(against, list | tuple | Mapping):
        return next(groups(model, against))
    return Group(model, {} if against is None else {"source": against}, {})


def _fed_alike(first: Entry, second: Entry) -> Entry:
    """The second model on the inputs of the first."""
    unlike = unlike_inputs(first.feeds.arrays, second.feeds.arrays)
    if unlike:
        raise BadInput(f"{first.model.label} and {second.model.label} take different inputs: {unlike}")
    arrays = {name: first.feeds.arrays[name] for name in second.feeds.arrays}
    return dataclasses.replace(second, feeds=dataclasses.replace(second.feeds, arrays=arrays))


def _compared(record: Check, sides: _Sides, settings: Settings) -> tuple[Check, set[str]]:
    """The check with its outputs compared, and the names of those that both sides have.

    Every side is called twice, one side after the other, so that there are never more than three sets of outputs.
    """
    tolerances, limits = settings.tolerances, settings.limits
    first, is_steady = steady_outputs(sides.specs[0], tolerances, limits)
    if not is_steady:
        return replace(record, undecided=not_deterministic(sides.names[0])), set()
    second, is_steady = steady_outputs(sides.specs[1], tolerances, limits)
    if not is_steady:
        return replace(record, undecided=not_deterministic(sides.names[1])), set()
    record = replace(record, outputs=differences(first, second, tolerances, sides.form))
    shared = {*first[0]} & {*second[0]}
    if record.equal or sides.make_again is None:
        return record, shared
    del first  # the source is made again: still no more than three
    if not same_again(second, outputs_of(sides.make_again(), limits), tolerances):
        record = replace(record, undecided=not_deterministic(sides.names[1], made=True))
    return record, shared


# ---------------------------------------------------------------- why outputs differ


def _random(sides: _Sides) -> str:
    """Which models draw random numbers, as far as that shows before anything runs; empty if none does."""
    names = sides.names if len(sides.entries) > 1 else [sides.entries[0].model.label]
    found = [(name, drawn_in(entry)) for name, entry in zip(names, sides.entries, strict=True)]
    return "; ".join(draws_random_numbers(name, operators) for name, operators in found if operators)


def _walked(record: Check, sides: _Sides, shared: Collection[str], settings: Settings) -> CheckResult:
    """The check with the first node that differs; if none does, with the optimization level that is at fault."""
    node, arrays = _first_difference(sides, settings)
    if node is not None or record.equal:
        return CheckResult(replace(record, node=node, walked=True), arrays)
    if not any(output.name in shared for output in record.outputs if not output.equal):
        return CheckResult(replace(record, notes=(*record.notes, NO_NODE)))
    return CheckResult(replace(record, walked=True, level=_first_level(sides.specs, settings)))


def _first_difference(sides: _Sides, settings: Settings) -> tuple[NodeDifference | None, NodeArrays]:
    """Walk the graph in order; what only one side computes (the other folded it away) is skipped."""
    first, second = (tensors_of(spec, settings.limits) for spec in sides.specs)
    tolerances = settings.tolerances
    for index, node in enumerate(outline_of(sides.entries[0].model).graph.nodes):
        for name in (name for name in node.outputs if name in first and name in second):
            difference = compare(name, first[name], second[name], tolerances.rtol, tolerances.atol)
            if not difference.equal:
                found = NodeDifference(
                    index=index,
                    name=node.name,
                    operator=f"{node.domain}.{node.op_type}" if node.domain else node.op_type,
                    inputs=node.inputs,
                    difference=difference,
                )
                return found, _arrays_of(node, first, second)
    return None, {}


def _arrays_of(node: GraphNode, first: Mapping[str, Any], second: Mapping[str, Any]) -> NodeArrays:
    """Inputs of a node, and its outputs on both sides, under names that any file can hold."""
    found = {f"input_{place}": first.get(name) for place, name in enumerate(node.inputs)}
    for place, name in enumerate(node.outputs):
        found |= {f"first_output_{place}": first.get(name), f"second_output_{place}": second.get(name)}
    return {name: value for name, value in found.items() if isinstance(value, np.ndarray)}


def _first_level(specs: Sequence[WorkerSpec], settings: Settings) -> OptLevel | None:
    """The first optimization level of onnxruntime at which the outputs differ."""
    limits = settings.limits
    others = {id(spec): outputs_of(spec, limits) for spec in specs if spec.runtime != "ort"}
    for level in LEVELS if len(others) < len(specs) else ():
        first, second = (others.get(id(spec)) or outputs_of(_at_level(spec, level), limits) for spec in specs)
        if disagreement(first, second, settings.tolerances):
            return level
    return None


def _at_level(spec: WorkerSpec, level: OptLevel) -> WorkerSpec:
    return replace(spec, session=replace(spec.session, opt_level=level))
