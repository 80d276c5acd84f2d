"""`onnxperf.doctor`: what this machine is, and how small a difference can be seen on it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx

from onnxperf.analyze.answers.doctor import doctor_answer, quick_answer, race_text, why_not_kept
from onnxperf.analyze.answers.headroom import peak_rows
from onnxperf.analyze.judges.noise import TINY_EFFECT, noise_band
from onnxperf.api._shared.peaks import measured_peaks
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.requests import Settings, parse
from onnxperf.api._shared.setups import only_setup
from onnxperf.api._shared.subjects import Entry, function_specs, model_specs, open_entries
from onnxperf.errors import BrokenLibrary, MissingExtra, OnnxperfError
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load, noise
from onnxperf.measure.machine.inventory import take_inventory
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.race import Progress, RaceEnd, Tools, race
from onnxperf.model.inputs import Feeds
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import BENCH, DOCTOR
from onnxperf.records.doctor import MachineReport
from onnxperf.records.headroom import Peaks
from onnxperf.records.options import InputOptions, RaceOptions, WorkerLimits
from onnxperf.results.base import Result

_NAMES = ("A", "A again")
_ROWS, _COLUMNS = 64, 128
"""A product of this size takes about 30 us on one core: long against a call's overhead, short against a time slice."""


@public(DOCTOR)
def doctor(
    *, quick: bool, time: float, threads: int, given: Mapping[str, Any], progress: Progress = automatic
) -> Result[MachineReport]:
    """Describe this machine, race a small model against itself for `time` seconds, and measure its peaks.

    What that race could still mistake for a difference is the noise band; later benches claim nothing below it,
    unless `why_not_kept` objects. A single thread measures the machine, not a thread pool. The peaks, of one thread
    and of all cores, are kept for `profile` with `roofline`. With `quick`, the machine is only described, in less than
    two seconds: no race, no peaks, and the noise measured last.
    """
    if quick:
        refuse_useless(given, ("quick",), "`quick`, which races nothing")
        return _described()
    settings = parse({"time": time, "min_effect": TINY_EFFECT, "threads": threads}, BENCH)
    machine = machines.describe_machine()
    progress(0.0, "looking at the machine")
    rows = dict(take_inventory(machine))
    twins = _twins(settings)
    start = load.snapshot()
    end = _race_against_itself(twins.specs, settings.race, progress)
    machine = load.machine_since(start, machine)
    band = noise_band(end.subjects, end.interrupted)
    rows["A/A race"] = race_text(twins.text, twins.specs[0].threads, end.subjects)
    if band is not None:
        reason = why_not_kept(band, time, DEFAULT_TIME_S, twins.specs[0].threads)
        if not reason:
            noise.remember(band, machine.cpu, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
        rows["noise kept for bench"] = f"no: {reason}" if reason else "yes: later benches claim nothing smaller"
    found = _peaks(machine.cores, progress) if not end.interrupted and not twins.missing else _Peaks()
    rows |= peak_rows(found.peaks, found.missing)
    answer = doctor_answer(machine, band, time, end.subjects, end.interrupted)
    report = MachineReport(
        machine=machine,
        rows=rows,
        peaks=found.peaks,
        noise_band=band,
        answer=answer,
        interrupted=end.interrupted or found.interrupted,
        command="onnxperf.doctor",
    )
    return Result(report)


def _described() -> Result[MachineReport]:
    """The machine without a race; what an earlier one found out about its noise is shown, not kept again."""
    machine = machines.describe_machine()
    known = noise.recall(machine.cpu)
    answer = quick_answer(machine, *(() if known is None else (known.band, known.date)))
    rows = {**dict(take_inventory(machine, quick=True)), "A/A race": "left out (quick)"}
    return Result(MachineReport(machine=machine, rows=rows, answer=answer, command="onnxperf.doctor"))


class _Peaks(NamedTuple):
    """What this machine reached, by number of threads."""

    peaks: tuple[Peaks, ...] = ()
    missing: str = ""
    """Why some are not there."""
    interrupted: bool = False


def _peaks(cores: int, progress: Progress) -> _Peaks:
    """Measure with one thread and with one for each core, and keep both for later profiles."""
    found: list[Peaks] = []
    try:
        for threads in sorted({1, cores}):
            found.append(measured_peaks(threads, progress))
    except KeyboardInterrupt:
        return _Peaks(tuple(found), interrupted=True)
    except OnnxperfError as error:
        return _Peaks(tuple(found), str(error))
    return _Peaks(tuple(found))


def _race_against_itself(specs: Sequence[WorkerSpec], options: RaceOptions, progress: Progress) -> RaceEnd:
    """The race of a bench, except that no look ends it: a false alarm is what it is there to find."""
    tools = Tools(
        launch=start_of(WorkerLimits()),
        settled=lambda _subjects: False,
        progress=progress,
        cpus=machines.processors(),
    )
    return race(specs, options, tools)


class _Twins(NamedTuple):
    """The same subject twice, each in a worker of its own."""

    specs: list[WorkerSpec]
    entries: list[Entry]
    """Kept until the race is over: the file of a model in memory goes with its last entry."""
    missing: str = ""
    """Why it is no model."""

    @property
    def text(self) -> str:
        """What raced."""
        return f"numpy's matmul ({self.missing})" if self.missing else "a small onnxruntime model"


def _twins(settings: Settings) -> _Twins:
    """A small model, or numpy's product where onnxruntime cannot be had."""
    try:
        setup = only_setup("ort", "run", settings)
    except (MissingExtra, BrokenLibrary) as error:
        generator = np.random.default_rng(0)
        shapes = {"X": (_ROWS, _COLUMNS), "W": (_COLUMNS, _COLUMNS)}
        feeds = Feeds({name: generator.random(shape, dtype=np.float32) for name, shape in shapes.items()}, {})
        missing = str(error).partition(";")[0]
        return _Twins(function_specs(dict.fromkeys(_NAMES, np.matmul), feeds, settings.session.threads), [], missing)
    entries = open_entries(dict.fromkeys(_NAMES, _small_model()), InputOptions(), None)
    return _Twins(model_specs(entries, [setup]), entries)


def _small_model() -> onnx.ModelProto:
    """MatMul and Add, in versions that every onnxruntime of the last years can read."""
    weights = np.random.default_rng(0).standard_normal((_COLUMNS, _COLUMNS), dtype=np.float32)
    helper, shape = onnx.helper, [_ROWS, _COLUMNS]
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "W"], ["P"]), helper.make_node("Add", ["P", "B"], ["Y"])],
        "doctor",
        [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, shape)],
        [onnx.numpy_helper.from_array(weights, "W"), onnx.numpy_helper.from_array(weights[0], "B")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
