"""Whatever happens to the parent, nothing stays behind: neither running nor frozen."""

from __future__ import annotations

import random
import signal
import sys
import uuid
from collections.abc import Iterator

import psutil
import pytest

from tests.depth import often
from tests.measure.nursery import Nursery
from tests.measure.processes import left_behind, tagged

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG and /proc are Linux's"),
]

MOMENTS = often(28)
STEPS = 26
"""Lines that a race prints in its first two launches; the others are like the second."""
LONGEST_STEP_S = 0.01


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    parents = Nursery("tests.measure.racing_parent:main")
    yield parents
    parents.close()


def kill_at(nursery: Nursery, seed: int) -> list[psutil.Process]:
    """Kill a race at a moment that the seed decides; returns what it left behind."""
    chance = random.Random(seed)
    tag = uuid.uuid4().hex
    nursery.start([], {"ONNXPERF_TEST_TAG": tag})
    for _ in range(chance.randrange(STEPS)):
        nursery.line()
    # Somewhere within the step that was printed last.
    nursery.prints_within(chance.uniform(0, LONGEST_STEP_S))
    nursery.kill()
    assert nursery.end() == -signal.SIGKILL, nursery.printed
    remaining = left_behind(tag)
    for process in remaining:
        process.kill()
    return remaining


def test_a_parent_killed_at_random_moments_leaves_no_process_behind(nursery: Nursery) -> None:
    assert [kill_at(nursery, seed) for seed in range(MOMENTS)] == [[]] * MOMENTS


def test_the_scan_sees_workers_and_that_idle_ones_are_frozen(nursery: Nursery) -> None:
    tag = uuid.uuid4().hex
    parent = psutil.Process(nursery.start([], {"ONNXPERF_TEST_TAG": tag}))
    for _ in range(12):
        nursery.line()
    # A stopped parent holds still while we look.
    parent.suspend()
    states = [process.status() for process in tagged(tag)]
    assert len(states) == 3
    assert states.count(psutil.STATUS_STOPPED) >= 2
    nursery.kill()
    assert nursery.end() == -signal.SIGKILL, nursery.printed
    assert left_behind(tag) == []
