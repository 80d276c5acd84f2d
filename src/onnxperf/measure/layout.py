"""Blocks of random size that a worker holds next to its sessions, so that new sessions get another memory layout."""

from __future__ import annotations

import math
import mmap

import numpy as np

Block = bytearray | mmap.mmap

_MOST_PAGES = 2048
"""8 MB on most machines; the pages are never touched, so they take no memory."""
_HEAP_BLOCKS = 64
_HEAP_UNIT = 16
_FEWEST_UNITS, _MOST_UNITS = 33, 8192
"""Up to 128 kB: large enough for the C heap, where sessions are, instead of Python's; too small to be mapped."""


def block_sizes(chance: np.random.Generator) -> tuple[int, ...]:
    """Sizes of one block of whole pages, which shifts large tensors, and of many blocks for the heap.

    Without these, consecutive sessions in a process alternate between two addresses. Small blocks alone would vanish in
    gaps that no session uses.
    """
    pages = int(chance.integers(1, _MOST_PAGES))
    units = np.exp(chance.uniform(math.log(_FEWEST_UNITS), math.log(_MOST_UNITS), _HEAP_BLOCKS))
    return pages * mmap.PAGESIZE, *(int(each) * _HEAP_UNIT for each in units)


def take_blocks(sizes: tuple[int, ...]) -> list[Block]:
    """Allocate blocks of these sizes; they are freed when they are dropped.

    The first is mapped, not allocated: freeing a large block would raise malloc's threshold for mapping tensors.
    """
    return [mmap.mmap(-1, sizes[0]), *map(bytearray, sizes[1:])] if sizes else []
