"""Other libraries in the race of an equation: which of them there is time for, and the processes that they keep."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onnxperf.analyze.answers.einsum import no_time_for
from onnxperf.analyze.judges.einsum import NUMPY
from onnxperf.api._shared.racing import memory_for_workers, start_of
from onnxperf.contraction.equation import Equation
from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import Load, Prepare, WorkerSpec
from onnxperf.measure.pool import Pool
from onnxperf.measure.process import Worker
from onnxperf.measure.worker_group import Launch
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import MIN_ROUNDS

Function = Callable[..., Any]

_CALLS = 2 * MIN_ROUNDS
"""Calls of a library in a race: one that is timed and one before it in each round."""
_TERM_NS = {False: 0.5, True: 5.0}
"""Time of a term in numpy.einsum, for up to two operands and for more."""


class _Peer(NamedTuple):
    function: Function
    starts: float
    """Time that its race must have, in starts of a worker: most of it goes into importing the library."""
    module: str


class Peers(NamedTuple):
    """Libraries that race, and notes on those that do not."""

    functions: dict[str, Function]
    notes: list[str]


def peers_of(equation: Equation, seconds: float, start_s: float) -> Peers:
    """Libraries that can compute the equation, each with a contiguous result, and notes on those left out.

    `start_s` is what the start of a worker takes, which is more while other programs are busy. numpy.einsum goes
    through all terms of the plain sum; where that takes too long, the others would not get their rounds.
    """
    installed = {name: peer for name, peer in _PEERS.items() if importlib.util.find_spec(peer.module) is not None}
    fitting = {name: peer for name, peer in installed.items() if peer.starts * start_s < seconds}
    notes = no_time_for([name for name in installed if name not in fitting])
    call_ns = equation.products * _TERM_NS[len(equation.operands) > 2]
    if NUMPY in fitting and call_ns * _CALLS > seconds * 1e9:
        del fitting[NUMPY]
        notes += no_time_for([NUMPY], call_ns)
    return Peers({name: partial(peer.function, equation.canonical) for name, peer in fitting.items()}, notes)


def launches(stack: ExitStack, peers: Sequence[WorkerSpec], limits: WorkerLimits) -> Launch:
    """How workers of a race start: graphs in a new process each time, each library in the one that it keeps.

    Importing a library takes longer than all the rest of a launch.
    """
    start = start_of(limits)
    pools = {_name(spec): stack.enter_context(Pool(start, memory_for_workers)) for spec in peers}
    for worker in [pools[_name(spec)].take(spec, 1) for spec in peers]:  # all start side by side
        _import(worker)
        worker.close()  # it goes back to its pool
    return partial(_launch, start, pools)


def _launch(start: Launch, pools: Mapping[str, Pool], spec: WorkerSpec) -> Worker:
    pool = pools.get(_name(spec))
    return start(spec) if pool is None else pool.take(spec, 1)


def _name(spec: WorkerSpec) -> str:
    return spec.subjects[0].name


def _import(worker: Worker) -> None:
    """Call a library once; the race shows why one fails."""
    with suppress(OnnxperfError):
        worker.wait_until_ready()
        worker.ask(Load(worker.spec))
        worker.ask(Prepare(0))


def _numpy_einsum(text: str, *operands: Any) -> Any:
    return np.ascontiguousarray(np.einsum(text, *operands))


def _opt_einsum(text: str, *operands: Any) -> Any:
    import opt_einsum

    return np.ascontiguousarray(opt_einsum.contract(text, *operands))


def _torch_einsum(text: str, *operands: Any) -> Any:
    import torch

    with torch.inference_mode():
        return torch.einsum(text, *map(torch.from_numpy, operands)).contiguous()


_PEERS = {
    NUMPY: _Peer(_numpy_einsum, 3.0, "numpy"),
    "opt_einsum": _Peer(_opt_einsum, 3.0, "opt_einsum"),
    "torch.einsum": _Peer(_torch_einsum, 8.0, "torch"),
}
