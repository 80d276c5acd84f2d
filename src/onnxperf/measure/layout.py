"""Blocks of random size that a worker holds beside its sessions, so that these lie elsewhere than the ones before."""

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
"""Up to 128 kB: large enough for the heap of C, where sessions are, and not that of Python; too small to be mapped."""


def block_sizes(chance: np.random.Generator) -> tuple[int, ...]:
    """One block of whole pages, which moves large tensors, and many of all sizes for the heap.

    Without these, sessions opened one after the other in a process take turns at two places. Small ones alone vanish
    in gaps that no session would use.
    """
    pages = int(chance.integers(1, _MOST_PAGES))
    units = np.exp(chance.uniform(math.log(_FEWEST_UNITS), math.log(_MOST_UNITS), _HEAP_BLOCKS))
    return pages * mmap.PAGESIZE, *(int(each) * _HEAP_UNIT for each in units)


def take_blocks(sizes: tuple[int, ...]) -> list[Block]:
    """Blocks of these sizes; they are given back when they are forgotten.

    The first is mapped, not allocated: giving back a large block would raise the size from which malloc maps tensors.
    """
    return [mmap.mmap(-1, sizes[0]), *map(bytearray, sizes[1:])] if sizes else []
