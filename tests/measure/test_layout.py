"""Where memory lies: blocks that a worker holds beside its sessions."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import psutil
import pytest

from onnxperf.measure.layout import block_sizes, take_blocks
from onnxperf.measure.messages import Load
from tests.measure.processes import Workers

MB = 1 << 20


def test_blocks_are_whole_pages_and_parts_of_pages_and_a_seed_repeats_them() -> None:
    drawn = [block_sizes(np.random.default_rng(seed)) for seed in range(50)]
    assert drawn[7] == block_sizes(np.random.default_rng(7))
    assert len({large for large, *_ in drawn}) > 40
    for large, *small in drawn:
        assert large % mmap.PAGESIZE == 0
        assert 0 < large <= 2048 * mmap.PAGESIZE
        assert all(512 < size < mmap.PAGESIZE and size % 16 == 0 for size in small)
        assert len({size % 64 for size in small}) == 4  # a cache line has 64 bytes


def test_blocks_have_the_sizes_that_were_drawn() -> None:
    assert [len(block) for block in take_blocks((3 * mmap.PAGESIZE, 528, 4080))] == [3 * mmap.PAGESIZE, 528, 4080]


@pytest.mark.skipif(sys.platform != "linux", reason="reads what a process has mapped")
def test_a_worker_takes_the_blocks_with_a_set_up_and_gives_them_back_with_the_next() -> None:
    workers = Workers()
    worker = workers(lambda: None)
    process = psutil.Process(worker.pid)

    def mapped_after(*sizes: int) -> int:
        worker.ask(Load(worker.spec, sizes))
        return int(process.memory_info().vms)

    try:
        mapped_after()
        before = mapped_after()
        held = [mapped_after(size * MB, 528) - before for size in (512, 64, 256)]
        assert [round(each / MB) for each in held] == [512, 64, 256]
        assert round((mapped_after() - before) / MB) == 0
    finally:
        workers.close()
