"""Where memory lies: blocks that a worker holds beside its sessions."""

from __future__ import annotations

import mmap
import weakref

import numpy as np
import pytest

from onnxperf.measure.layout import Block, block_sizes, take_blocks
from onnxperf.measure.messages import Load, Loaded, WorkerSpec
from onnxperf.measure.worker.host import Host


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


def test_a_host_takes_the_blocks_with_a_set_up_and_gives_them_back_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[weakref.ref[Block]] = []
    held_before: list[int] = []

    def take(sizes: tuple[int, ...]) -> list[Block]:
        held_before.append(sum(block() is not None for block in taken))
        blocks = take_blocks(sizes)
        taken.extend(weakref.ref(block) for block in blocks[:1])  # of bytes there are no weak references
        return blocks

    monkeypatch.setattr("onnxperf.measure.worker.host.take_blocks", take)
    host, spec = Host(), WorkerSpec(subjects=(), threads=1, feeds={})
    for sizes in ((3 * mmap.PAGESIZE, 528), (mmap.PAGESIZE,), (2 * mmap.PAGESIZE, 4096, 544), ()):
        assert isinstance(host.answer(Load(spec, sizes)), Loaded)
        assert [len(block) for block in host.blocks] == list(sizes)
    assert held_before == [0, 0, 0, 0]
    assert [block() for block in taken] == [None, None, None]
