"""Sequences of tensors, represented as Python lists, and optional values, represented as the value or None."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel


@kernel("SequenceConstruct", since=11)
def make_sequence_construct(_node: Node) -> Kernel:
    """A list of the inputs."""
    return Kernel(lambda *values: list(values), "view")


@kernel("SequenceEmpty", since=11)
def make_sequence_empty(_node: Node) -> Kernel:
    """An empty list."""
    return Kernel(list, "fresh")


@kernel("SequenceInsert", since=11)
def make_sequence_insert(_node: Node) -> Kernel:
    """A copy of the list with one more tensor."""

    def insert(sequence: Any, tensor: Array, position: Any = None) -> Any:
        if position is None:
            return [*sequence, tensor]
        at = int(position.reshape(()))
        at = at + len(sequence) if at < 0 else at
        return [*sequence[:at], tensor, *sequence[at:]]

    return Kernel(insert, "view")


@kernel("SequenceErase", since=11)
def make_sequence_erase(_node: Node) -> Kernel:
    """A copy of the list without one of its tensors."""

    def erase(sequence: Any, position: Any = None) -> Any:
        rest = list(sequence)
        del rest[-1 if position is None else int(position.reshape(()))]
        return rest

    return Kernel(erase, "view")


@kernel("SequenceAt", since=11)
def make_sequence_at(_node: Node) -> Kernel:
    """One tensor from the list."""
    return Kernel(lambda sequence, position: sequence[int(position.reshape(()))], "view")


@kernel("SequenceLength", since=11)
def make_sequence_length(_node: Node) -> Kernel:
    """How many tensors the list has."""
    return Kernel(lambda sequence: np.int64(len(sequence)), "fresh")


@kernel("ConcatFromSequence", since=11)
def make_concat_from_sequence(node: Node) -> Kernel:
    """The tensors joined along an axis, or stacked along a new one."""
    axis = node.get("axis")
    join = np.stack if node.get("new_axis", 0) else np.concatenate
    return Kernel(lambda sequence: join(sequence, axis), "fresh")


@kernel("SplitToSequence", since=11)
def make_split_to_sequence(node: Node) -> Kernel:
    """Parts along an axis: single slices, equal parts, or parts of given lengths."""
    axis, keep = node.get("axis", 0), node.get("keepdims", 1)

    def split(x: Array, lengths: Array | None = None) -> Any:
        if lengths is None:
            parts = np.moveaxis(x, axis, 0)
            return [np.expand_dims(part, axis) for part in parts] if keep else list(parts)
        ends = np.cumsum(lengths)[:-1] if lengths.ndim else np.arange(int(lengths), x.shape[axis], int(lengths))
        return np.split(x, ends, axis)

    return Kernel(split, "view")


@kernel("Optional", since=15)
def make_optional(node: Node) -> Kernel | None:
    """The value itself."""
    return Kernel(lambda value: value, "view") if node.has(0) else None


@kernel("OptionalGetElement", since=15)
def make_optional_get_element(_node: Node) -> Kernel:
    """The value, which must exist."""

    def get(value: Any) -> Any:
        if value is None:
            raise ValueError("OptionalGetElement: the optional value is empty")
        return value

    return Kernel(get, "view")


@kernel("OptionalHasElement", since=15)
def make_optional_has_element(_node: Node) -> Kernel:
    """Whether there is a value."""
    return Kernel(lambda value=None: np.bool_(value is not None), "fresh")
