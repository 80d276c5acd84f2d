"""The simulated machine on which rules of judgement are tried."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulation import Manner, NoisyMachine, SimulatedWorker
from onnxperf.measure.messages import FunctionSubject, TimeBlock, WorkerSpec
from onnxperf.measure.worker.timing import sizes_of

SPEC = WorkerSpec(subjects=(FunctionSubject(name="a", function=b""),), threads=1, feeds={})
MANNERS = [
    Manner(),
    Manner(jitter=0.04),
    Manner(slow_calls=0.1),
    Manner(jitter=0.04, slow_calls=0.02, slow_blocks=0.5, ramp=0.06, suffers=1.5),
]


def worker(manner: Manner) -> SimulatedWorker:
    return SimulatedWorker(SPEC, NoisyMachine(np.random.default_rng(0)), 1e6, 0.0, manner=manner)


@pytest.mark.parametrize("manner", MANNERS)
def test_the_quickest_piece_is_that_of_the_calls_which_are_timed_one_by_one(manner: Manner) -> None:
    timed = worker(manner).ask(TimeBlock(0, 30, 0, each=True, pieces=4))
    ends = np.cumsum([0, *timed.call_ns])[np.cumsum([0, *sizes_of(30, 4)])]
    assert timed.duration_ns == pytest.approx(sum(timed.call_ns), rel=1e-4)
    assert timed.quickest_ns == pytest.approx(min(np.diff(ends) / sizes_of(30, 4)), rel=1e-4)


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("manner", MANNERS[:3])
def test_sums_of_calls_have_their_mean_and_their_spread(manner: Manner, size: int) -> None:
    sums = manner.sums([size] * 20_000, np.random.default_rng(0))
    slow = manner.slow_calls
    variance = 4 * slow * (1 - slow) + manner.jitter**2 * (1 + 8 * slow)
    assert sums.mean() == pytest.approx(size * manner.mean, rel=0.01)
    assert sums.std() == pytest.approx((size * variance) ** 0.5, rel=0.05)


def test_time_passes_while_calls_are_timed() -> None:
    one = worker(Manner(jitter=0.04))
    timed = one.ask(TimeBlock(0, 30, 3_000_000, pieces=4))
    assert one.machine.clock() == pytest.approx(3_000_000 + timed.duration_ns, abs=2)
