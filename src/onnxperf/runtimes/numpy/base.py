"""What a kernel is, what is known of its node at compile time, and where kernels are found."""

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
"""What kernels take and return; a result without axes may be one of numpy's scalars, which can do the same."""


@dataclass(eq=False)
class Value:
    """A tensor of the graph, as much of it as is known at compile time."""

    name: str
    dtype: DType | None = None
    shape: Dims | None = None
    constant: Any = None
    """Its value where that never changes; None elsewhere."""

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
    """How many steps it has: none where all that it returns is constant."""


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
        """Domain of the operator, ONNX's own as nothing."""
        return short_domain(self.proto.domain)

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute, or a default."""
        return self.attributes.get(name, default)

    def has(self, index: int) -> bool:
        """Whether that input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def constant(self, index: int) -> Any:
        """The value of that input where it is given and never changes, else None."""
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
"""Computes a part of a result from that part, and writes it over it: `finish(part, part)`."""


class Affine(NamedTuple):
    """What happens to every channel: it is multiplied and then shifted; vectors in double precision."""

    factor: Array
    shift: Array


class Channels(NamedTuple):
    """What a kernel offers whose result has channels, along axis 1, that constants of its own scale and shift."""

    rank: int
    """Axes of the result."""
    size: int
    scaled: Callable[[Affine], Kernel | None]
    """The same kernel, with its channels scaled and shifted; None if its constants could not hold that."""


class Kernel(NamedTuple):
    """A function that computes a node from its inputs.

    It gets the inputs in order (None for those left out), and returns the output, or a tuple when `output_count` of
    its node is above 1. Inputs must never be changed.
    """

    function: Callable[..., Any]
    result: Result = "unknown"
    """`fresh`: new memory that nothing else refers to. `view`: may share memory with inputs. `unknown`: as `view`."""
    overwrites: tuple[int, ...] = ()
    """Inputs whose memory may take the result, when the compiler proves it safe: the function then gets that input
    once more as an additional last argument `out`, as numpy's ufuncs do."""
    uses: tuple[int, ...] | None = None
    """Inputs that are passed; None means all. Those that were bound at compile time are left out."""
    channels: Channels | None = None
    """How its channels can be scaled and shifted at no cost; None if they cannot."""
    finished: Callable[[Finish], Kernel] | None = None
    """The same kernel that lets a function change its result, part by part; None if it has no parts."""


def aligned(constant: Array, rank: int) -> Array:
    """A constant that combines with a tensor of that rank as before, and faster.

    Numpy combines operands of the same shape, and any with a single number, in half the time that it needs to
    broadcast one to the other: a single number loses its axes, and others get as many as the tensor has.
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
"""Binds a node's attributes and constants; None when it does not cover this node, and the fallback must."""


class _Entry(NamedTuple):
    since: int
    maker: Maker


_REGISTRY: dict[tuple[str, str], list[_Entry]] = {}


def kernel(*operators: str, domain: str = "", since: int = 1) -> Callable[[Maker], Maker]:
    """Register a maker for operators of a domain, from an opset on (until the next entry of that operator)."""

    def register(maker: Maker) -> Maker:
        for operator in operators:
            entries = _REGISTRY.setdefault((domain, operator), [])
            entries.append(_Entry(since, maker))
            entries.sort(key=lambda entry: entry.since)
        return maker

    return register


def find_kernel(node: Node) -> Kernel | None:
    """The kernel of a node, if one covers it."""
    entries = [e for e in _REGISTRY.get((node.domain, node.op), []) if e.since <= node.version]
    return entries[-1].maker(node) if entries else None
