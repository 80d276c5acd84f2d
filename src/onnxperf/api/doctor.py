"""`onnxperf.doctor`: what this machine is, and how small a difference can be seen on it."""

from __future__ import annotations

import datetime
import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import onnx

from onnxperf.analyze.comparison import compare
from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.requests import race_options, session_options
from onnxperf.api._shared.subjects import Entry, chosen_calls, function_specs, model_specs, open_entries
from onnxperf.errors import MissingExtra
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import noise
from onnxperf.measure.machine.inventory import take_inventory
from onnxperf.measure.messages import WorkerSpec
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.race import Progress, RaceEnd, Tools, race
from onnxperf.model.inputs import Feeds
from onnxperf.records import MIN_ROUNDS, InputOptions, Machine, RaceOptions, SessionOptions, WorkerLimits
from onnxperf.results.doctor import DoctorResult

COMMON_CLAIM = 0.01
"""The minimum effect of a bench that asks for nothing else."""
VERY_NOISY = 0.03
BUSY_LOAD = 0.5
"""Load per core above which something else is at work."""

_NAMES = ("A", "A again")
_ROWS, _COLUMNS = 64, 128
"""A product of this size takes about 30 us on one core: long against a call's overhead, short against a time slice."""
_TINY_EFFECT = 1e-6
"""No claim is too small here: what the interval says is the result."""


def doctor(
    time: float = DEFAULT_TIME_S, threads: int | None = None, progress: Progress = lambda _done, _text: None
) -> DoctorResult:
    """Describe this machine and race a small model against itself for `time` seconds.

    What that race could still mistake for a difference is the noise band; later benches claim nothing below it,
    unless `why_not_kept` objects. One thread unless asked otherwise: that measures the machine, not a thread pool.
    """
    session = session_options({"threads": 1 if threads is None else threads})
    options = race_options({"time": time, "min_effect": _TINY_EFFECT})
    machine = machines.describe_machine()
    progress(0.0, "looking at the machine")
    rows = take_inventory(machine)
    twins = _twins(session)
    end = race_against_itself(twins.specs, options, progress)
    machine = machines.after_the_race(machine)
    band = noise_band(end)
    rows.append(("A/A race", _race_text(twins.specs[0], end)))
    if band is not None:
        reason = why_not_kept(band, time, twins.specs[0].threads)
        if not reason:
            noise.remember(band, machine.cpu, datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
        rows.append(
            ("noise kept for bench", f"no: {reason}" if reason else "yes: it claims nothing smaller from now on")
        )
    sentence = " ".join([*warnings(machine), conclusion(band, time, end)])
    return DoctorResult(machine, rows, band, sentence, end.interrupted)


def race_against_itself(specs: Sequence[WorkerSpec], options: RaceOptions, progress: Progress) -> RaceEnd:
    """The race of a bench, except that no look ends it: a false alarm is what it is there to find."""
    tools = Tools(
        launch=start_of(WorkerLimits()),
        settled=lambda _subjects: False,
        progress=progress,
        cpus=machines.processors(),
    )
    return race(specs, options, tools)


def noise_band(end: RaceEnd) -> float | None:
    """The larger distance of the speedup's interval from 1: what two equal subjects could be taken for.

    It includes the estimate itself, which should be 0, and the width of the interval, as a bench of that length
    would see it. None when the race was not complete.
    """
    if end.interrupted or any(s.status != "ok" or len(s.blocks) < MIN_ROUNDS for s in end.subjects):
        return None
    rival = compare(end.subjects, end.subjects[0].name, _TINY_EFFECT)[-1]
    if rival.speedup_low is None or rival.speedup_high is None:
        return None
    return max(abs(rival.speedup_low - 1), abs(rival.speedup_high - 1))


def why_not_kept(band: float, time: float, threads: int) -> str:
    """Why later benches must not rely on a band; empty when they should.

    They call equivalent whatever differs by less than it, so a band that is too wide would hide real differences,
    whereas without a band their own intervals still keep them honest: what is noisy stays undecided.
    """
    if time < DEFAULT_TIME_S:
        return f"a bench takes {DEFAULT_TIME_S:g} s and sees more than a shorter race"
    if threads > 1:
        return "with several threads it is the noise of a thread pool"
    if band > VERY_NOISY:
        return f"above {VERY_NOISY:.0%} it tells more about this moment than about this machine".replace("%", " %")
    return ""


# ---------------------------------------------------------------- who races


class _Twins(NamedTuple):
    """The same subject twice, each in a worker of its own."""

    specs: list[WorkerSpec]
    entries: list[Entry]
    """Kept until the race is over: the file of a model in memory goes with its last entry."""


def _twins(session: SessionOptions) -> _Twins:
    """A small model, or numpy's product where onnxruntime is missing."""
    try:
        calls = chosen_calls(["ort"], ["run"], session)
    except MissingExtra:
        generator = np.random.default_rng(0)
        shapes = {"X": (_ROWS, _COLUMNS), "W": (_COLUMNS, _COLUMNS)}
        feeds = Feeds({name: generator.random(shape, dtype=np.float32) for name, shape in shapes.items()}, {})
        return _Twins(function_specs(dict.fromkeys(_NAMES, np.matmul), feeds, session), [])
    entries = open_entries(dict.fromkeys(_NAMES, _small_model()), InputOptions(), None)
    return _Twins(model_specs(entries, calls, session), entries)


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


# ---------------------------------------------------------------- what is said


def warnings(machine: Machine) -> list[str]:
    """What makes this a bad moment to measure."""
    said = []
    load = machine.load_before
    if load is not None and load > BUSY_LOAD * machine.cores:
        cores = f"{machine.cores} core{'s' if machine.cores > 1 else ''}"
        said.append(
            f"Something else is running, or was a minute ago: the load before the race was {load:.2f} on {cores}."
        )
    before, after = machine.throttled_before, machine.throttled_after
    if before is not None and after is not None and after > before:
        said.append("The CPU was too hot during the race and slowed itself down.")
    if not machine.frozen:
        said.append("Idle workers cannot be frozen here, so they disturb each other a little.")
    return said


def conclusion(band: float | None, time: float, end: RaceEnd) -> str:
    """How small a difference can be seen here, and what to do when that is not small enough."""
    if band is None:
        return _why_unknown(end)
    seen = f"On this machine, now, a race of {time:g} s shows differences of {_up(band)} and more"
    if band <= COMMON_CLAIM:
        return f"{seen}; 1 % needs nothing special."
    # The interval shrinks with the square root of the time, as long as the machine stays as it is.
    needed = f"about {_round_up(time * (band / COMMON_CLAIM) ** 2)} s (--time)"
    if band <= VERY_NOISY:
        return f"{seen}; 1 % needs {needed}."
    remedies = "close other programs, set the governor to performance, keep the machine cool, or use a quieter one"
    return f"{seen}. That is a lot: {remedies}, then run the doctor again; as it is, 1 % would need {needed}."


def _why_unknown(end: RaceEnd) -> str:
    if end.interrupted:
        return "The race was interrupted, so the noise of this machine is not known; run the doctor again."
    lost = next((s for s in end.subjects if s.status != "ok"), None)
    if lost is not None:
        return f"The race failed, so the noise of this machine is not known: {lost.reason or lost.status}."
    return (
        f"The race was too short to tell the noise of this machine: it needs {MIN_ROUNDS} rounds; give it more --time."
    )


def _race_text(spec: WorkerSpec, end: RaceEnd) -> str:
    what = "a small onnxruntime model" if spec.runtime == "ort" else "numpy's matmul (onnxruntime is not installed)"
    threads = f"{spec.threads} thread{'s' if spec.threads > 1 else ''}"
    blocks = end.subjects[0].blocks
    launches = len({block.launch for block in blocks})
    effort = f"{len(blocks)} rounds, {launches} launch{'es' if launches != 1 else ''}"
    if not blocks:
        return f"{what} against itself on {threads}, nothing measured"
    call_us = statistics.median(block.duration_ns / block.calls for block in blocks) / 1000
    return f"{what} of {call_us:.3g} us a call against itself on {threads}, {effort}"


def _up(share: float) -> str:
    """Two digits, rounded up: a promise is better kept than nearly kept."""
    digits = max(0, 1 - math.floor(math.log10(max(share * 100, 0.01))))
    scale = 10**digits
    return f"{math.ceil(share * 100 * scale - 1e-9) / scale:g} %"


def _round_up(seconds: float) -> int:
    step = 10 if seconds < 300 else 60
    return math.ceil(seconds / step) * step
