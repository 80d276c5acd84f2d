"""The approximate cost of a node on a CPU, in microseconds: enough to rank candidates, not to replace a race.

The constants were fitted to onnxruntime 1.31 with two threads on x86-64. Only their proportions matter: a transpose
that copies whole blocks versus one that moves single elements, and a product versus the copies around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod

from onnxperf.contraction.equation import Shape

NODE = 0.5
RESHAPE = 0.3
SCAN = 4.0
SCAN_ITERATION = 1.3
_THREADS = 2
_COPY = 1 / 50_000
"""Per byte copied in order."""
_FLOPS = {"float32": 1e5, "float64": 5e4, "int32": 1.5e4, "int64": 5e3}
"""Per microsecond and core."""
_LANES = 16
_SMALL_PRODUCT = 0.2
"""Fixed cost of each product of a batch."""
_ITEM_BYTES = {"float16": 2, "float32": 4, "float64": 8, "int32": 4, "int64": 8}


def item_bytes(dtype: str) -> int:
    """Bytes of one element."""
    return _ITEM_BYTES[dtype]


def folded(shape: Shape, perm: Sequence[int]) -> tuple[Shape, tuple[int, ...]]:
    """The same transpose without axes of size 1, and with axes that stay together merged into one."""
    kept = [axis for axis in perm if shape[axis] != 1]
    starts = [axis for i, axis in enumerate(kept) if i == 0 or not _follows(shape, kept[i - 1], axis)]
    ordered = sorted(starts)
    sizes: dict[int, int] = {}
    current = -1
    for axis in kept:
        current = axis if axis in starts else current
        sizes[current] = sizes.get(current, 1) * shape[axis]
    return tuple(sizes[axis] for axis in ordered), tuple(ordered.index(axis) for axis in starts)


def _follows(shape: Shape, first: int, second: int) -> bool:
    return second > first and all(shape[axis] == 1 for axis in range(first + 1, second))


@lru_cache(100_000)
def transpose(shape: Shape, perm: tuple[int, ...], item: int) -> float:
    """A Transpose: by the length of its contiguous runs and by onnxruntime's traversal of them."""
    is_gathering = _gathers(shape, perm)
    shape, perm = folded(shape, perm)
    rank, elements = len(shape), prod(shape)
    total_bytes = elements * item
    if perm == tuple(range(rank)):
        return NODE + total_bytes * _COPY
    if perm[-1] == rank - 1:
        blocks = elements / shape[-1]
        return NODE + blocks * _per_block(perm, shape[-1] * item, is_gathering) + total_bytes * _COPY
    loops = _plain_loops(shape, perm)
    if loops is None:
        return NODE + elements * 0.0035
    if item == 8:
        return NODE + elements * 0.0004
    return NODE + loops * 0.4 + elements * 0.00015


def _per_block(perm: tuple[int, ...], block_bytes: int, is_gathering: bool) -> float:
    """One writer that gathers from many readers is faster than the reverse; other permutations use counters."""
    if block_bytes == 8:
        return 0.0015
    if is_gathering:
        return 0.002
    return 0.0045 if _is_single_move(perm) else 0.0065


def _gathers(shape: Shape, perm: tuple[int, ...]) -> bool:
    """Does one axis move inward past several? Past only one, onnxruntime sees that one move outward instead."""
    kept = [axis for axis in perm if shape[axis] != 1]
    ranks = [sorted(kept).index(axis) for axis in kept]
    moved = next((i for i, axis in enumerate(ranks) if axis != i), None)
    if moved is None or ranks.index(moved) - moved < 2:
        return False
    return _is_ascending([axis for axis in ranks if axis != moved])


def _plain_loops(shape: Shape, perm: tuple[int, ...]) -> int | None:
    """The number of plain matrix transposes that this equals; None if it is something else."""
    if len(perm) == 2:
        return 1
    return shape[0] if perm == (0, 2, 1) else None


def _is_single_move(perm: tuple[int, ...]) -> bool:
    return any(_is_ascending([axis for axis in perm if axis != moved]) for moved in perm)


def _is_ascending(axes: Sequence[int]) -> bool:
    return all(a < b for a, b in pairwise(axes))


def product(batch: int, rows: int, inner: int, columns: int, dtype: str, transposed: tuple[bool, bool]) -> float:
    """A matrix product; vectors are limited by memory, and small matrices have the overhead of packing."""
    trans_a, trans_b = transposed
    if (rows == 1 or columns == 1) and dtype == "float32":
        single = 0.05 + rows * inner * columns * 0.00005
        if rows == columns == 1:
            single = 0.1 + inner * (0.00015 if trans_b else 0.002)
        elif (columns == 1 and trans_b) or (rows == 1 and trans_a):
            single *= 3
    else:
        lanes = -(-columns // _LANES) * _LANES
        flops = 2 * rows * inner * lanes * (1.1 if trans_a else 1.0)
        single = flops / _FLOPS[dtype] + inner * columns * 0.0003
    # only the float32 product spreads a batch over threads; the others process one matrix after the other
    is_parallel = rows * inner * columns > 50_000 or (batch > 1 and dtype == "float32")
    threads = _THREADS if is_parallel else 1
    return NODE + batch * (_SMALL_PRODUCT + single) / threads


def multiply(left: Shape, right: Shape) -> float:
    """An elementwise product with broadcasting: long runs are fast, each short run has overhead."""
    output = [max(a, b) for a, b in zip(left, right, strict=True)]
    run, kind = 1, None
    for a, b, size in reversed(list(zip(left, right, output, strict=True))):
        if size == 1:
            continue
        own = (a == 1, b == 1)
        if kind not in (None, own):
            break
        run, kind = run * size, own
    elements = prod(output)
    return NODE + elements * 0.0001 + elements / run * (0.006 if run != elements else 0)


def reduce(shape: Shape, axes: Sequence[int], item: int) -> float:
    """A sum over axes: onnxruntime has fast code for axes that form one run."""
    dropped = [axis in axes for axis, size in enumerate(shape) if size != 1]
    runs = [kind for i, kind in enumerate(dropped) if i == 0 or dropped[i - 1] != kind]
    elements = prod(shape) * item / 4
    rate = {(True,): 0.00012, (False, True): 0.00006, (True, False): 0.0003, (False, True, False): 0.0001}
    return NODE + elements * rate.get(tuple(runs), 0.0004 if len(runs) > 3 else 0.0001)


def copy(elements: int, item: int) -> float:
    """A pass over all elements in order."""
    return NODE + elements * item * _COPY


def stride(elements: int) -> float:
    """A Slice that picks single elements."""
    return NODE + elements * 0.002


def einsum(shapes: Sequence[Shape], output: Shape, products: int, dtype: str) -> float:
    """onnxruntime's own Einsum, which moves single elements around a matrix product."""
    moved = sum(map(prod, shapes)) + prod(output)
    return 15.0 + moved * 0.0012 + products * 2 / _FLOPS[dtype]
