"""A converted model and its source, run on the same inputs and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

from onnxperf.analyze.answers.convert import unsteady_text
from onnxperf.analyze.judges.agreement import differences
from onnxperf.analyze.judges.tables import compare_tables
from onnxperf.api._shared.outputs import outputs_of
from onnxperf.api._shared.samples import Call, resized
from onnxperf.api._shared.subjects import Entry, ort_spec
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine.cores import usable_cores
from onnxperf.model import interface
from onnxperf.model.generate import Array
from onnxperf.model.inputs import make_feeds
from onnxperf.model.load import open_model
from onnxperf.records.check import Check, Difference
from onnxperf.records.options import InputOptions, SessionOptions, Tolerances, WorkerLimits
from onnxperf.wording.names import dims_text

Axes = dict[interface.Axis, str]
Sizes = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class ConversionCheck:
    """A converted model, and what is needed to examine it."""

    proto: onnx.ModelProto
    label: str
    feeds: dict[str, Array]
    axes: Axes
    tolerances: Tolerances
    limits: WorkerLimits
    call: Call | None
    may_fix: bool
    """Whether free dimensions that the source turns out not to have may be fixed."""
    takes_table: bool = False
    tables: Sequence[Mapping[str, Array]] = ()
    """Of an estimator: rows on which it is compared besides the sample, the most demanding first."""

    @property
    def sizes(self) -> dict[str, int]:
        return {dim: self.feeds[name].shape[axis] for (name, axis), dim in self.axes.items()}

    @property
    def other_sizes(self) -> dict[str, int]:
        # Different steps, so that an axis of an output shows which dimension it follows.
        return {dim: size + 1 + index for index, (dim, size) in enumerate(self.sizes.items())}

    def others(self) -> list[tuple[Mapping[str, Array], dict[str, int]]]:
        """Inputs of other sizes, the most demanding first."""
        tables = self.tables if self.call is not None else ()
        found = [(each, {dim: each[name].shape[axis] for (name, axis), dim in self.axes.items()}) for each in tables]
        return [*found, (resized(self.feeds, self.axes, self.other_sizes), self.other_sizes)]

    def run(self, feeds: Mapping[str, Array]) -> tuple[list[str], list[Any]]:
        """What onnxruntime computes."""
        model = open_model(self.proto, self.label)
        entry = Entry(model, make_feeds(model, InputOptions(), feeds), {})
        session = SessionOptions(threads=usable_cores())
        return outputs_of(ort_spec(entry, session), self.limits)

    def check(self, outputs: Sequence[Difference], sizes: Sizes) -> Check:
        return Check(
            model=f"{self.label} ({dims_text(sizes)})" if sizes else self.label,
            first="ort",
            second="source",
            rtol=self.tolerances.rtol,
            atol=self.tolerances.atol,
            outputs=tuple(outputs),
        )


@dataclass
class Comparisons:
    """What comparisons found."""

    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    """Of tables that were compared."""

    def compare(
        self, job: ConversionCheck, mine: tuple[list[str], list[Any]], theirs: Sequence[Any], sizes: Sizes, rows: int
    ) -> None:
        """Add a comparison of the outputs of the model and of its source."""
        pairs = list(zip(*mine, theirs, strict=False))
        if not pairs:
            raise BadInput("the source returns nothing that could be compared with the converted model")
        names, ours, others = ([pair[place] for pair in pairs] for place in range(3))
        if job.takes_table:
            outputs, notes = compare_tables(names, ours, others, job.tolerances)
            self.rows.append(rows)
        else:
            outputs, notes = differences((names, ours), ([], others), job.tolerances, "precision"), []
        self.checks.append(job.check(outputs, sizes))
        self.notes += notes


def examine(job: ConversionCheck) -> Comparisons:
    """Run the model and its source on the sample and on other sizes; outputs get the names of their dimensions."""
    found = Comparisons()
    mine = job.run(job.feeds)
    if job.call is not None:
        found.compare(job, mine, _steady_outputs(job, job.call, mine[0]), job.sizes, _rows(job.feeds))
    if not job.axes or 0 in job.sizes.values():
        interface.drop_foreign_symbols(job.proto, job.sizes)
        return found
    failures: list[str] = []
    for feeds, sizes in job.others():
        try:
            theirs = None if job.call is None else _source_outputs(job.call, feeds)
        except BadInput as error:
            failures.append(f"{dims_text(sizes)}: {error}")
            continue
        found.notes += [f"no rows at edges were checked; with {failure}" for failure in failures[:1]]
        _examine_other(job, found, mine, feeds, theirs, sizes)
        return found
    found.notes.append(_without_other_sizes(job, failures[-1]))
    return found


def _examine_other(
    job: ConversionCheck,
    found: Comparisons,
    mine: tuple[list[str], list[Any]],
    feeds: Mapping[str, Array],
    theirs: Sequence[Any] | None,
    sizes: Sizes,
) -> None:
    names, ours = mine
    try:
        _, others = job.run(feeds)
    except BadInput as error:
        _refuse_fixed_axes(job)
        interface.drop_foreign_symbols(job.proto, job.sizes)
        lost = Difference(name=names[0], equal=False, reason=f"onnxruntime failed: {error}")
        found.checks.append(job.check([lost], sizes))
        return
    shapes = [
        {n: v.shape for n, v in zip(names, run, strict=True) if isinstance(v, np.ndarray)} for run in (ours, others)
    ]
    interface.name_output_axes(job.proto, (job.sizes, sizes), shapes)
    interface.drop_foreign_symbols(job.proto, job.sizes)
    if theirs is not None:
        if _shapes(others) != _shapes(theirs):
            _refuse_fixed_axes(job)
        found.compare(job, (names, others), theirs, sizes, _rows(feeds))


def _refuse_fixed_axes(job: ConversionCheck) -> None:
    """Refuse a model whose graph holds a size of the sample as a constant, though its input claims that it is free."""
    if job.takes_table:
        return
    agrees = job.call is None or _shapes(job.run(job.feeds)[1]) == _shapes(_source_outputs(job.call, job.feeds))
    for (name, axis), dim in job.axes.items():
        if not agrees or not _is_fixed(job, dim):
            continue
        raise BadOption(
            f"the export fixed this axis at {job.sizes[dim]}, the size of the sample, though the source takes others; "
            "leave it out, or compute the size from the inputs in the source",
            option="dynamic",
            value=f"{name}.{axis}={dim}",
        )


def _is_fixed(job: ConversionCheck, dim: str) -> bool:
    """Whether the model fails, or returns other shapes than its source, where only this dimension has another size."""
    feeds = resized(job.feeds, job.axes, {dim: job.other_sizes[dim]})
    try:
        theirs = None if job.call is None else _source_outputs(job.call, feeds)
    except BadInput:
        return False  # the source does not take it either
    try:
        _, ours = job.run(feeds)
    except BadInput:
        return True
    return theirs is not None and _shapes(ours) != _shapes(theirs)


def _shapes(outputs: Sequence[Any]) -> list[tuple[int, ...]]:
    return [each.shape for each in outputs if isinstance(each, np.ndarray)]


def _rows(feeds: Mapping[str, Array]) -> int:
    return next((len(array) for array in feeds.values() if array.ndim), 0)


def _steady_outputs(job: ConversionCheck, call: Call, names: Sequence[str]) -> list[Any]:
    """What the source computes, twice: one that draws random numbers cannot be compared with anything."""
    first, second = (_source_outputs(call, job.feeds) for _ in range(2))
    places = [*names, *map(str, range(len(names), max(len(first), len(second))))]
    found = differences((places[: len(first)], first), (places[: len(second)], second), job.tolerances)
    moved = [each for each in found if not each.equal]
    if moved:
        raise BadInput(unsteady_text(moved))
    return first


def _source_outputs(call: Call, feeds: Mapping[str, Array]) -> list[Any]:
    try:
        return list(call(feeds))
    except Exception as error:
        line = " ".join(str(error).split())[:300]
        raise BadInput(f"the source fails on these inputs: {type(error).__name__}: {line}") from error


def _without_other_sizes(job: ConversionCheck, why: str) -> str:
    """The source takes only one size: so does the model, unless names of dimensions were requested."""
    if job.may_fix:
        interface.name_input_axes(job.proto, {}, {name: array.shape for name, array in job.feeds.items()})
        return f"all sizes are fixed to those of the sample; with {why}"
    interface.drop_foreign_symbols(job.proto, job.sizes)
    return f"checked with the sizes of the sample only; with {why}"
