"""Whatever happens to the parent, nothing stays behind: neither running nor frozen."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.measure.processes import left_behind, tagged

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG and /proc are Linux's"),
]

MOMENTS = 50
STEPS = 51
"""Lines that an undisturbed race prints."""
LONGEST_STEP_S = 0.01
SCRIPT = Path(__file__).with_name("racing_parent.py")


@contextmanager
def racing(tag: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = {**os.environ, "ONNXPERF_TEST_TAG": tag}
    with subprocess.Popen(
        [sys.executable, str(SCRIPT)], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, bufsize=0
    ) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def follow(parent: subprocess.Popen[bytes], lines: int) -> None:
    """Wait until the race has printed so many steps (it may end before)."""
    assert parent.stdout is not None
    for _ in range(lines):
        if not parent.stdout.readline():
            break


def kill_at(seed: int) -> list[psutil.Process]:
    """Kill a race at a moment that the seed decides; returns what it left behind."""
    chance = random.Random(seed)
    tag = uuid.uuid4().hex
    with racing(tag) as parent:
        follow(parent, chance.randrange(STEPS))
        # Somewhere within the step that was printed last.
        assert parent.stdout is not None
        select.select([parent.stdout], [], [], chance.uniform(0, LONGEST_STEP_S))
        parent.kill()
        parent.wait()
        remaining = left_behind(tag)
    for process in remaining:
        process.kill()
    return remaining


def test_a_parent_killed_at_50_random_moments_leaves_no_process_behind() -> None:
    with ThreadPoolExecutor(max_workers=2) as pool:
        remaining = list(pool.map(kill_at, range(MOMENTS)))
    assert remaining == [[]] * MOMENTS


def test_the_scan_sees_workers_and_that_idle_ones_are_frozen() -> None:
    tag = uuid.uuid4().hex
    with racing(tag) as parent:
        follow(parent, 12)
        # A stopped parent holds still while we look.
        psutil.Process(parent.pid).suspend()
        states = [process.status() for process in tagged(tag) if process.pid != parent.pid]
        assert len(states) == 3
        assert states.count(psutil.STATUS_STOPPED) >= 2
        parent.kill()
        parent.wait()
        assert left_behind(tag) == []
