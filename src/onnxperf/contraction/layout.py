"""Moves the axes of one tensor: by reshapes if possible, else by transposes in one or two strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import prod

from onnxperf.contraction import cost
from onnxperf.contraction.equation import Letters, Shape
from onnxperf.contraction.graph import Draft, DraftNode

_MAX_RANK_OF_TWO_STRIDES = 6
"""Up to this rank, all intermediate axis orders are tried: 720 of them."""
_WORTH_A_DETOUR = 0.8
_DETOUR = 2.0
"""Microseconds that two strides lose to additional nodes and intermediate memory."""


@dataclass(frozen=True)
class Term:
    """A value of a draft, with one letter per axis."""

    value: int
    letters: Letters


@dataclass(frozen=True)
class Setting:
    """Settings of a whole graph: sizes of the letters, the computation type, and the allowed operators."""

    sizes: Mapping[str, int]
    dtype: str
    computes_in: str
    """The type of all intermediate values."""
    portable: bool = False

    @property
    def item(self) -> int:
        """Bytes of one element."""
        return cost.item_bytes(self.computes_in)

    @property
    def fuses(self) -> bool:
        """Does onnxruntime have a product that reads transposed operands in place?"""
        return self.computes_in == "float32"

    def shape(self, letters: Sequence[str]) -> Shape:
        """Sizes of some letters."""
        return tuple(self.sizes[letter] for letter in letters)

    def size(self, letters: Sequence[str]) -> int:
        """Number of elements that some letters span."""
        return prod(self.shape(letters))


def in_order(letters: Letters, order: Letters) -> Letters:
    """The letters, sorted as in an order of all."""
    return tuple(letter for letter in order if letter in letters)


def reshape(draft: Draft, value: int, shape: Shape) -> tuple[Draft, int]:
    """The value in another shape."""
    return draft.reshape(value, shape, cost.RESHAPE)


def arrange(draft: Draft, term: Term, letters: Letters, setting: Setting) -> list[tuple[Draft, Term]]:
    """Ways to bring the axes of a term into an order, the plain one first."""
    if term.letters == letters:
        return [(draft, term)]
    perm = tuple(term.letters.index(letter) for letter in letters)
    shape = setting.shape(term.letters)
    short, moves = cost.folded(shape, perm)
    if moves == tuple(range(len(moves))):
        draft, value = reshape(draft, term.value, setting.shape(letters))
        return [(draft, Term(value, letters))]
    ways = [_in_one(draft, term, letters, setting)]
    detour = _best_detour(short, moves, setting.item)
    if detour is not None:
        ways.append(_in_two(draft, term, letters, setting, detour))
    return ways


def arrange_plainly(draft: Draft, term: Term, letters: Letters, setting: Setting) -> tuple[Draft, Term]:
    """The axes of a term in an order, with at most one Transpose."""
    return arrange(draft, term, letters, setting)[0]


def transpose(draft: Draft, value: int, perm: tuple[int, ...], microseconds: float) -> tuple[Draft, int]:
    """A Transpose of a value as it is."""
    shape = draft.shape(value)
    node = DraftNode("Transpose", (value,), tuple(shape[axis] for axis in perm), (("perm", perm),))
    return draft.add(node, microseconds)


def shielded(draft: Draft, value: int) -> tuple[Draft, int]:
    """A value whose Transpose stays separate from the next one.

    onnxruntime merges two of them, even through a Reshape; it does not look through a Flatten, which costs nothing.
    """
    shape = draft.shape(value)
    flat = (shape[0], prod(shape[1:]))
    draft, value = draft.add(DraftNode("Flatten", (value,), flat, (("axis", 1),)), cost.RESHAPE)
    return reshape(draft, value, shape)


def _in_one(draft: Draft, term: Term, letters: Letters, setting: Setting) -> tuple[Draft, Term]:
    perm = tuple(term.letters.index(letter) for letter in letters)
    draft, value = reshape(draft, term.value, setting.shape(term.letters))
    draft, value = transpose(draft, value, perm, cost.transpose(draft.shape(value), perm, setting.item))
    return draft, Term(value, letters)


def _in_two(
    draft: Draft, term: Term, letters: Letters, setting: Setting, detour: tuple[tuple[int, ...], tuple[int, ...]]
) -> tuple[Draft, Term]:
    """Two transposes that move matrices or whole blocks, if one would move single elements."""
    perm = tuple(term.letters.index(letter) for letter in letters)
    shape, _ = cost.folded(setting.shape(term.letters), perm)
    first, second = detour
    draft, value = reshape(draft, term.value, shape)
    draft, value = transpose(draft, value, first, cost.transpose(shape, first, setting.item))
    between = draft.shape(value)
    draft, value = shielded(draft, value)
    draft, value = transpose(draft, value, second, cost.transpose(between, second, setting.item))
    draft, value = reshape(draft, value, setting.shape(letters))
    return draft, Term(value, letters)


@lru_cache(10_000)
def _best_detour(shape: Shape, perm: tuple[int, ...], item: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The two transposes with the lowest total cost, if they are worth it."""
    direct = cost.transpose(shape, perm, item)
    rank = len(shape)
    if rank > _MAX_RANK_OF_TWO_STRIDES or direct < 4 * _DETOUR:
        return None
    best, found = direct * _WORTH_A_DETOUR, None
    for first in permutations(range(rank)):
        spent = cost.transpose(shape, first, item) + _DETOUR
        if spent >= best:
            continue
        second = tuple(first.index(axis) for axis in perm)
        spent += cost.transpose(tuple(shape[axis] for axis in first), second, item)
        if spent < best:
            best, found = spent, (first, second)
    return found
