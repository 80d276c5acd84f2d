"""`onnxperf.quantize`: a model in int8 by onnxruntime's quantizer, with what each layer wins, loses and costs."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from msgspec.structs import replace

from onnxperf.analyze.answers.quantize import notes_on, nothing_to_quantize, quantize_answer
from onnxperf.analyze.judges.quantization import (
    best_way,
    is_faster,
    layers_of,
    marked,
    nodes_to_exclude,
    to_exclude,
    unfused_of,
    way_to_take,
    with_race,
)
from onnxperf.api._quantization.budget import QuantizeBudget, Stage
from onnxperf.api._quantization.layers import errors_alone, profile_sides
from onnxperf.api._quantization.quantizer import Quantized, Quantizer, open_quantizer
from onnxperf.api._quantization.samples import MOST_COMPARED, Calibration, given_calls, samples_of
from onnxperf.api._quantization.search import WAYS, Attempts, attempt, in_order, race_models, try_ways
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.progress import automatic, part_of
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import visible_options
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, interpreter_of
from onnxperf.api._shared.subjects import Entry, open_entries
from onnxperf.api._tuning.candidates import start_of_search
from onnxperf.errors import BadInput, BadModel, BadOption, FileNotWritten, SubjectError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.race import Progress
from onnxperf.options.functions import QUANTIZE
from onnxperf.records.base import Machine
from onnxperf.records.quantize import FLOAT32, INT8, Quantization, QuantizationWay, TriedWay
from onnxperf.records.race import Case
from onnxperf.render.kit.files import check_folder, copy
from onnxperf.results.quantize import QuantizeResult

_COMPARING = 0.2
"""Part of the time that is left for comparing the result on all held-out inputs, before the confirming race."""
_WITHOUT = "without slower nodes"


@public(QUANTIZE)
def quantize(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    output: str | Path | None = None,
    calibrate: Calibration,
    max_error: float,
    time: float,
    settings: Settings,
    progress: Progress = automatic,
) -> QuantizeResult:
    """Quantize a model to int8, and say what that gives: as a whole, by layer, in time and in accuracy.

    Several ways are tried: dynamic and static, signed and unsigned, per channel. The fastest whose error is at most
    `max_error` is profiled; nodes that are slower in int8 stay in float32 if the race shows that this is faster. The
    answer rests on a race on fresh inputs, and its errors on inputs that chose nothing. `calibrate` has real inputs:
    .npz files with an array for each input, calls or rows along the first axis, or such arrays; without them inputs
    are random. The model is written to `output`, if that is given, unless int8 is slower than float32: then nothing is
    chosen or written. `time` is for all of it: of a large model, only the ways that won most often elsewhere are
    tried. Ctrl-C returns the results so far.
    """
    if output is not None:
        check_folder(output)
    setup = start_of_search(settings)
    interpreter_of(setup.session)  # building an environment does not count
    start_s = monotonic()
    machine = machines.describe_machine()
    opened = open_source(model, timeout_s=settings.limits.timeout)
    if output is not None and Path(output).absolute() == opened.path:
        raise BadOption("that is the model itself; choose another name", option="output", value=output)
    calls = given_calls(opened, calibrate, settings.inputs)
    given = {**(feeds or {}), **(calls[0] if calls else {})}
    entry = open_entries(model, settings.inputs, given, settings.limits.timeout)[0]
    fixed = {name: entry.feeds.arrays[name] for name in feeds or {}}
    samples = samples_of(entry.model, entry.feeds, calls, settings.inputs, fixed)
    budget = QuantizeBudget(start_s, time, monotonic)
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        progress(0.0, "preparing the model")
        limits = settings.limits
        with open_quantizer(entry.model, setup.session, samples, Path(folder), limits) as quantizer:
            work = _Work(entry, quantizer, setup, settings, machine, max_error, budget, progress)
            try:
                work.run()
            except KeyboardInterrupt:
                work.interrupted = True
        if work.model is not None and output is not None and not work.interrupted:
            return _written(work, work.model, Path(output))
        return _result(work)


@dataclass
class _Work:
    """One quantization, step by step; what is known when it is interrupted stays."""

    entry: Entry
    quantizer: Quantizer
    setup: Setup
    """The session, and how it is called."""
    settings: Settings
    machine: Machine
    max_error: float
    budget: QuantizeBudget
    progress: Progress
    attempts: Attempts = field(default_factory=Attempts)
    record: Quantization = field(init=False)
    model: Quantized | None = None
    """The best one, so far."""
    output: str = ""
    interrupted: bool = False

    def __post_init__(self) -> None:
        samples, entry = self.quantizer.samples, self.entry
        self.record = Quantization(
            model=entry.model.label,
            fingerprint=entry.model.fingerprint,
            dims=entry.feeds.dims,
            calibrated=samples.given,
            calibration_inputs=samples.calibration.last - samples.calibration.first,
            choosing_inputs=samples.choosing.last - samples.choosing.first if samples.chooses_apart else 0,
            held_out_inputs=samples.held_out.last - samples.held_out.first,
            overlap=samples.overlap,
            max_error=self.max_error,
            size_before_bytes=entry.model.size_bytes,
            command="onnxperf.quantize",
        )

    def run(self) -> None:
        """Find the best way, explain it, improve it, and confirm it."""
        best = self._search()
        if best is None:
            return
        self._choose(best.way, best.way.name)
        self._explain(best.way)
        self._confirm()

    def _search(self) -> TriedWay | None:
        within = part_of(self.progress, 0.0, 0.4)
        try:
            ways = in_order(WAYS, self.quantizer.has_convolutions)
            try_ways(self.quantizer, ways, self.attempts, self.max_error, self.budget, within)
        finally:  # Ctrl-C leaves those that were made
            self.record = replace(self.record, ways=tuple(self.attempts.rows))
        names = self.attempts.runnable
        if not names:
            raise BadModel(nothing_to_quantize(self.entry.model.what, self.attempts.rows))
        if len(names) == 1:  # nothing to choose: the confirming race has the time
            return next(row for row in self.attempts.rows if row.way.name == names[0])
        case = self._race(self.entry, (FLOAT32, *names), "ways", part_of(self.progress, 0.4, 0.6))
        rows = with_race(self.attempts.rows, case)
        self.record = replace(self.record, ways=rows, searches=(case,))
        _stop_if(case.interrupted)
        return best_way(rows)

    def _choose(self, way: QuantizationWay, name: str) -> None:
        self.model = self.attempts.models[name]
        self.record = replace(self.record, best=way.name, size_after_bytes=self.model.size_bytes)

    def _explain(self, way: QuantizationWay) -> None:
        """Profile both sides; where layers are slower in int8, try without them; then the errors of layers alone."""
        if self.budget.left_of("explaining") < 0:
            self.note("layers were not compared for lack of time: increase `time`")
            return
        model, limits = self.attempts.models[way.name], self.settings.limits
        launches, within = self.budget.launches(self.attempts.opening_s), part_of(self.progress, 0.6, 0.65)
        if launches == 1:
            self.note("layers were profiled in one process, which does not prove that they changed: increase `time`")
        try:
            sides = profile_sides(self.entry, self.quantizer, model, self.setup, limits, within, launches)
        except BadInput as error:
            self.note(f"layers could not be compared: {error}")
            return
        layers = layers_of(sides)
        self.record = replace(self.record, layers=layers, unfused=unfused_of(sides))
        slower = to_exclude(layers)
        names = nodes_to_exclude(sides, slower)
        if names and len(names) < len(model.nodes) and self._is_faster_without(way, names):
            self.record = replace(self.record, excluded=tuple(name for layer in slower for name in layer.nodes))
        each_s, within = self.attempts.expected_s(way.mode), part_of(self.progress, 0.7, 0.75)
        errors = errors_alone(self.quantizer, way, sides, layers, self.budget, each_s, within)
        self.record = replace(self.record, layers=marked(layers, self.record.excluded, errors))

    def _is_faster_without(self, way: QuantizationWay, names: tuple[str, ...]) -> bool:
        """Whether the model is faster with these nodes in float32; then that is what is chosen."""
        if self.budget.left_of("explaining") < self.attempts.expected_s(way.mode):
            self.note("nodes that are slower in int8 were not left in float32 for lack of time: increase `time`")
            return False
        name = f"{way.name}, {_WITHOUT}"
        attempt(self.quantizer, replace(way, name=name), self.attempts, self.max_error, names)
        if self.attempts.rows[-1].status != "ok":
            self.record = replace(self.record, ways=(*self.record.ways, self.attempts.rows[-1]))
            return False
        case = self._race(self.entry, (way.name, name), "explaining", part_of(self.progress, 0.65, 0.7))
        (row,) = with_race(self.attempts.rows[-1:], case)
        self.record = replace(self.record, ways=(*self.record.ways, row), searches=(*self.record.searches, case))
        _stop_if(case.interrupted)
        if not is_faster(case, name) or not (row.acceptable or not self._is_acceptable(way.name)):
            return False
        self._choose(row.way, name)
        return True

    def _is_acceptable(self, name: str) -> bool:
        return any(row.way.name == name and row.acceptable for row in self.attempts.rows)

    def _confirm(self) -> None:
        """Compare the best way on all held-out inputs, and race it on inputs that no decision rests on."""
        if self.model is None:
            return
        self.progress(0.75, "errors on all held-out inputs")
        try:
            self._compare(self.model)
        except SubjectError as error:
            self.note(f"errors of the result could not be measured: {error.reason}")
        fresh = dataclasses.replace(self.entry, feeds=self.quantizer.samples.fresh, twin=None)
        self.attempts.models[INT8] = self.model
        case = self._race(fresh, (FLOAT32, INT8), "confirming", part_of(self.progress, 0.75, 1.0))
        self.record = replace(self.record, race=case)
        _stop_if(case.interrupted)

    def _compare(self, model: Quantized) -> None:
        """Measure errors on as many held-out inputs as there is time for."""
        known = self.attempts.compared[self.record.best]
        affordable = _COMPARING * self.budget.left_of("confirming") / max(known.call_s + known.reference_call_s, 1e-9)
        most = min(self.record.held_out_inputs, max(MOST_COMPARED, int(affordable)))
        errors = self.quantizer.held_out_errors(model.path, most)
        self.record = replace(self.record, errors=errors, held_out_inputs=most)

    def note(self, text: str) -> None:
        """Add a note."""
        self.record = replace(self.record, notes=(*self.record.notes, text))

    def _race(self, entry: Entry, names: Sequence[str], stage: Stage, progress: Progress) -> Case:
        """Race the model and what was made of it, by name; the first is the baseline."""
        made = self.attempts.models
        models = [(name, made[name].path if name in made else None) for name in names]
        time_s = self.budget.race_s(stage, len(models), self.attempts.opening_s)
        options = replace(self.settings.race, time=time_s)
        visible = visible_options(options, self.machine.cpu)
        return race_models(entry, self.setup, models, self.settings, visible, progress)


def _stop_if(interrupted: bool) -> None:
    """A Ctrl-C that a race answered with what it had ends everything, too."""
    if interrupted:
        raise KeyboardInterrupt


def _written(work: _Work, model: Quantized, output: Path) -> QuantizeResult:
    """The result with its file; measurements are not lost if that is slower, or cannot be written."""
    try:
        if not way_to_take(work.record):
            raise FileNotWritten(f"{output} was not written: int8 is slower than float32")
        copy(model.path, output)
    except FileNotWritten as error:
        work.note(str(error))
        result = _result(work)
        result.unwritten = str(output)
        return result
    work.output = str(output)
    return _result(work)


def _result(work: _Work) -> QuantizeResult:
    record = replace(
        work.record,
        chosen=way_to_take(work.record),
        output=work.output,
        interrupted=work.interrupted,
        machine=machines.after_the_race(work.machine),
        notes=(*work.entry.feeds.notes, *work.record.notes),
    )
    record = replace(record, notes=(*record.notes, *notes_on(record)))
    return QuantizeResult(replace(record, answer=quantize_answer(record)))
