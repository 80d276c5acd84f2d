"""How long the cases of a sweep would take here, before any of them is run."""

from __future__ import annotations

import contextlib
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from onnxperf.api._shared.cells import Cell, Contest
from onnxperf.api._shared.requests import names_in
from onnxperf.errors import OnnxperfError
from onnxperf.frameworks.base import FRAMEWORKS
from onnxperf.measure.plan import Costs, make_plan
from onnxperf.records.sweep import Estimate
from onnxperf.zoo import PREFIX
from onnxperf.zoo.build import find_entry

_USUAL_START_S = 0.12
"""Of a process with numpy, on the machine on which the other figures were taken."""
_STARTS = {"torch": 40.0, "tensorflow": 80.0, "sklearn": 15.0, "other": 15.0}
"""Starts of a worker with a source until it is warm, compared with that of a process with numpy."""
_MODEL_START, _RELOAD = 6.0, 1.0
"""The same of a worker with a model; the processes of a sweep are shared, and only load it again."""
_FIRST = 1.5
"""The first start of a case also compares outputs."""
_BUILDS_S = {"torch": 20.0, "tensorflow": 60.0, "sklearn": 5.0}
"""To build and export a model of the zoo, which happens once."""
_CALL_NS = {"bert-base": 1.0e6, "resnet50": 40e6}
"""A call of a large model of the zoo, for each unit of the product of its sizes; of others 1 ms is assumed."""
_USUAL_CALL_NS = 1e6


def estimate(cells: Sequence[Cell], start_s: Callable[[], float] | None = None) -> Estimate:
    """Seconds that the cases will take, from a process started here and the plan that a race would make."""
    if not cells:
        return Estimate(0.0, 0.0, 0.0)
    usual_s = (start_s or _start_s)()
    speed = usual_s / _USUAL_START_S
    racing = starting = 0.0
    builds: dict[tuple[str, str], float] = {}
    for cell in cells:
        contest = cell.parts[0] if cell.parts is not None else None
        sources = _sources(cell, contest)
        models = _subjects(contest)
        start_all_s = usual_s * (_MODEL_START * models + sum(_STARTS.get(each, _STARTS["other"]) for each in sources))
        again_s = start_all_s if sources else usual_s * _RELOAD * models
        call_ns = speed * _call_ns(cell)
        subjects = models + len(sources)
        costs = Costs(again_s * 1e9, 0.1 * again_s * 1e9, (call_ns,) * subjects)
        plan = make_plan(costs, cell.settings.race)
        racing += plan.rounds * plan.round_ns / 1e9
        starting += _FIRST * start_all_s + plan.seconds_for(plan.rounds) - plan.rounds * plan.round_ns / 1e9
        if cell.key.startswith(PREFIX):
            framework = next((each for each in sources if each in _BUILDS_S), None)
            with contextlib.suppress(OnnxperfError):  # what the zoo lacks is refused elsewhere
                entry = find_entry(cell.key.split()[0], framework)
                build_s = 0.0 if entry.onnx.exists() else speed * _BUILDS_S.get(entry.framework, 0.0)
                builds[entry.name, entry.framework] = build_s
    return Estimate(racing, starting, sum(builds.values()))


def _sources(cell: Cell, contest: Contest | None) -> list[str]:
    """The frameworks of the sources that race in a case; one of the user may be anything."""
    against = contest.against if contest is not None else None
    if against is None:
        return []
    if isinstance(against, Mapping):
        return ["other"] * len(against)
    names = names_in(against)
    named = [name for name in names if f" {name}" in cell.key]  # a zoo model has a case for each framework
    return [name if name in FRAMEWORKS else "other" for name in named or names]


def _subjects(contest: Contest | None) -> int:
    """How many rows of models a case has."""
    if contest is None:
        return 1
    models = len(contest.models) if isinstance(contest.models, list | tuple | Mapping) else 1
    return models * len(names_in(contest.call)) * len(names_in(contest.runtime))


def _call_ns(cell: Cell) -> float:
    name = cell.key.removeprefix(PREFIX).split()[0] if cell.key.startswith(PREFIX) else ""
    return _CALL_NS[name] * math.prod(cell.dims.values()) if name in _CALL_NS else _USUAL_CALL_NS


@lru_cache(1)
def _start_s() -> float:
    """The time that this machine needs to start a process with numpy, the better of two."""
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import numpy"], check=False, capture_output=True)
        times.append(time.perf_counter() - begin)
    return min(times)
