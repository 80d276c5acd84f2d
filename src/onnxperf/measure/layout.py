"""Blocks of random size that a worker holds beside its sessions, so that these lie elsewhere than the ones before."""

from __future__ import annotations

import mmap

import numpy as np

Block = bytearray | mmap.mmap

_MOST_PAGES = 2048
"""8 MB on most machines; the pages are never touched, so they take no memory."""
_SMALL_BLOCKS = 64
_SMALL = range(528, 4096, 16)
"""Large enough for the heap of C, where sessions are, and not that of Python; less than a page apart."""


def block_sizes(chance: np.random.Generator) -> tuple[int, ...]:
    """One block of whole pages and many small ones: the first moves large tensors, the others what is on the heap."""
    pages = int(chance.integers(1, _MOST_PAGES))
    return pages * mmap.PAGESIZE, *map(int, chance.choice(_SMALL, _SMALL_BLOCKS))


def take_blocks(sizes: tuple[int, ...]) -> list[Block]:
    """Blocks of these sizes; they are given back when they are forgotten.

    Pages are mapped, not allocated: giving back a large block would raise the size from which on malloc maps tensors.
    """
    return [mmap.mmap(-1, size) if size % mmap.PAGESIZE == 0 else bytearray(size) for size in sizes]
