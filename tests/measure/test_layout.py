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


def test_one_block_is_of_whole_pages_and_the_others_of_any_size_and_a_seed_repeats_them() -> None:
    drawn = [block_sizes(np.random.default_rng(seed)) for seed in range(50)]
    assert drawn[7] == block_sizes(np.random.default_rng(7))
    assert len({pages for pages, *_ in drawn}) > 40
    for pages, *others in drawn:
        assert pages % mmap.PAGESIZE == 0
        assert 0 < pages < 2048 * mmap.PAGESIZE
        assert all(512 < size < 128 << 10 for size in others)
        assert len({size % 64 for size in others}) == 4  # all that an alignment of 16 leaves in a cache line


def test_blocks_have_the_sizes_that_were_drawn() -> None:
    assert [len(block) for block in take_blocks((3 * mmap.PAGESIZE, 528, 4096))] == [3 * mmap.PAGESIZE, 528, 4096]
    assert take_blocks(()) == []


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
