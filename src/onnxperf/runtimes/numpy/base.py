"""What a kernel is, what is known about its node at compile time, and how kernels are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
import onnx

from onnxperf.model.graph import short_domain
from onnxperf.records.view import Dims

DType = np.dtype[Any]
Array = np.ndarray[Any, DType]
"""Arguments and results of kernels; a result without axes may be a numpy scalar, which supports the same operations."""


@dataclass(eq=False)
class Value:
    """A tensor of the graph, as much of it as is known at compile time."""

    name: str
    dtype: DType | None = None
    shape: Dims | None = None
    constant: Any = None
    """Its value if that never changes, else None."""

    @property
    def rank(self) -> int | None:
        """Number of axes, if known."""
        return None if self.shape is None else len(self.shape)

    @property
    def kind(self) -> str:
        """Numpy's letter for the kind of its type ("f", "i", "u", "b"…), or "" if unknown."""
        return "" if self.dtype is None else self.dtype.kind


@dataclass(eq=False)
class Body:
    """A compiled subgraph: call it with its inputs, then its captures; it returns a list of outputs."""

    function: Callable[..., list[Any]]
    captures: tuple[str, ...]
    """Names of the outer values that it reads."""
    inputs: tuple[Value, ...]
    steps: int
    """Its number of steps: none if all that it returns is constant."""


@dataclass(eq=False)
class Node:
    """A node at compile time: everything that a kernel may bind."""

    proto: onnx.NodeProto
    version: int
    """Opset of the node's domain."""
    opsets: dict[str, int]
    attributes: dict[str, Any]
    """Plain Python values; tensors are arrays; graphs are in `bodies`."""
    inputs: tuple[Value | None, ...]
    """None if an optional input is left out."""
    outputs: tuple[Value | None, ...]
    bodies: dict[str, Body] = field(default_factory=dict)

    @property
    def op(self) -> str:
        """Operator type."""
        return str(self.proto.op_type)

    @property
    def domain(self) -> str:
        """Domain of the operator; empty for ONNX's own."""
        return short_domain(self.proto.domain)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or a default."""
        return self.attributes.get(name, default)

    def has(self, index: int) -> bool:
        """Whether that input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def constant(self, index: int) -> Any:
        """The value of that input if it is given and never changes, else None."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return None if value is None else value.constant

    def kind(self, index: int = 0) -> str:
        """Kind of an input's type: "f", "i", "u", "b", "O" (strings)… or "" if unknown."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return "" if value is None else value.kind

    def dtype(self, index: int = 0) -> DType | None:
        """Type of an input, if known."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return None if value is None else value.dtype

    def rank(self, index: int = 0) -> int | None:
        """Number of axes of an input, if known."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return None if value is None else value.rank

    @property
    def output_count(self) -> int:
        """Outputs up to the last one that is used."""
        return max((i + 1 for i, value in enumerate(self.outputs) if value is not None), default=0)


Result = Literal["fresh", "view", "unknown"]

Finish = Callable[[Array, Array], Any]
"""Computes part of a result from that part, and overwrites it: `finish(part, part)`."""


class Affine(NamedTuple):
    """The change of every channel: it is multiplied and then shifted; vectors in double precision."""

    factor: Array
    shift: Array


class Channels(NamedTuple):
    """Offered by a kernel whose result has channels along axis 1 that its own constants scale and shift."""

    rank: int
    """Axes of the result."""
    size: int
    scaled: Callable[[Affine], Kernel | None]
    """The same kernel, with its channels scaled and shifted; None if its constants cannot represent that."""


class Kernel(NamedTuple):
    """A function that computes a node from its inputs.

    It gets the inputs in order (None for those left out), and returns the output, or a tuple when `output_count` of
    its node is above 1. Inputs must never be changed.
    """

    function: Callable[..., Any]
    result: Result = "unknown"
    """`fresh`: new memory that nothing else refers to. `view`: may share memory with inputs. `unknown`: as `view`."""
    overwrites: tuple[int, ...] = ()
    """Inputs whose memory may hold the result, if the compiler proves it safe: the function then gets that input
    again as an additional last argument `out`, as numpy's ufuncs do."""
    uses: tuple[int, ...] | None = None
    """Inputs that are passed; None means all. Inputs bound at compile time are left out."""
    channels: Channels | None = None
    """How its channels can be scaled and shifted at no cost; None if they cannot."""
    finished: Callable[[Finish], Kernel] | None = None
    """The same kernel with a function that changes its result part by part; None if it has no parts."""


def aligned(constant: Array, rank: int) -> Array:
    """A constant that combines with a tensor of that rank as before, but faster.

    Numpy combines operands of the same shape, and any with a single number, in half the time that broadcasting
    takes: a single number loses its axes, and other constants get as many as the tensor has.
    """
    if constant.ndim > rank:
        return constant
    return (
        constant.reshape(()) if constant.size == 1 else constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
    )


PLAIN_KINDS = frozenset("fiub")
"""Kinds of numpy's own types; ml_dtypes' are left to the fallback."""
NUMBER_KINDS = frozenset("fiu")

Maker = Callable[[Node], Kernel | None]
"""Binds a node's attributes and constants; None if it does not support this node, and the fallback must run it."""


class _Entry(NamedTuple):
    since: int
    maker: Maker


_REGISTRY: dict[tuple[str, str], list[_Entry]] = {}


def kernel(*operators: str, domain: str = "", since: int = 1) -> Callable[[Maker], Maker]:
    """Register a maker for operators of a domain, from an opset on (until the operator's next entry)."""

    def register(maker: Maker) -> Maker:
        for operator in operators:
            entries = _REGISTRY.setdefault((domain, operator), [])
            entries.append(_Entry(since, maker))
            entries.sort(key=lambda entry: entry.since)
        return maker

    return register


def find_kernel(node: Node) -> Kernel | None:
    """The kernel of a node, if one supports it."""
    entries = [e for e in _REGISTRY.get((node.domain, node.op), []) if e.since <= node.version]
    return entries[-1].maker(node) if entries else None
