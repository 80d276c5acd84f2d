"""A single node with random attributes and inputs, and the table of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper, numpy_helper

Array = np.ndarray[Any, Any]
T = TypeVar("T")
FLOATS: tuple[type, ...] = (np.float32, np.float64)
WHOLE: tuple[type, ...] = (np.int32, np.int64)
NUMBERS = (*FLOATS, *WHOLE)


@dataclass(frozen=True)
class Case:
    """One node."""

    operator: str
    inputs: Sequence[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    opset: int = 21
    bound: bool = False
    """Whether all inputs but the first are initialisers."""
    static: bool = True
    """Whether sizes are declared."""

    def model(self) -> tuple[onnx.ModelProto, dict[str, Array]]:
        """The node as a model, and its feeds."""
        names = ["" if value is None else f"x{i}" for i, value in enumerate(self.inputs)]
        given = {name: np.asarray(value) for name, value in zip(names, self.inputs, strict=True) if value is not None}
        constants = {name: value for name, value in given.items() if self.bound and name != "x0"}
        feeds = {name: value for name, value in given.items() if name not in constants}
        results = [f"y{i}" for i in range(self.outputs)]
        graph = helper.make_graph(
            [helper.make_node(self.operator, names, results, **self.attributes)],
            "one",
            [self._declared(name, value) for name, value in feeds.items()],
            [onnx.ValueInfoProto(name=name) for name in results],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds

    def _declared(self, name: str, value: Array) -> onnx.ValueInfoProto:
        element = onnx.TensorProto.STRING if value.dtype.hasobject else helper.np_dtype_to_tensor_dtype(value.dtype)
        shape = list(value.shape) if self.static else [f"{name}_{i}" for i in range(value.ndim)]
        return helper.make_tensor_value_info(name, element, shape)

    def __repr__(self) -> str:
        """All that is needed to understand it; arrays as types and shapes, small ones as values."""
        shown = ", ".join("-" if each is None else _shown(each) for each in self.inputs)
        options = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        how = f"opset {self.opset}{', bound' if self.bound else ''}{'' if self.static else ', free sizes'}"
        return f"{self.operator}({shown}{options}) [{how}]"


def _shown(array: Array) -> str:
    values = f" = {array.tolist()}" if array.size <= 4 else ""
    return f"{array.dtype}{list(array.shape)}{values}"


class Random:
    """Draws what a case consists of; elements of arrays come from a seed, so that drawing is fast."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._numbers = np.random.default_rng(draw(st.integers(0, 9999)))

    def one_of(self, *values: T) -> T:
        """One of several values."""
        return self._draw(st.sampled_from(values))

    def integer(self, low: int, high: int) -> int:
        """A number between two, both included."""
        return self._draw(st.integers(low, high))

    def flag(self) -> int:
        """0 or 1, as most attributes have it."""
        return self._draw(st.integers(0, 1))

    def chance(self) -> bool:
        """Whether something optional is there."""
        return self._draw(st.booleans())

    def shape(self, low: int = 0, high: int = 4, smallest: int = 1, largest: int = 4) -> tuple[int, ...]:
        """A shape of some rank."""
        return tuple(self._draw(st.lists(st.integers(smallest, largest), min_size=low, max_size=high)))

    def integers(self, count: int, low: int, high: int) -> list[int]:
        """Several numbers."""
        return [self.integer(low, high) for _ in range(count)]

    def broadcast(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another: some sizes are 1, some leading ones are missing."""
        missing = self.integer(0, len(shape)) if self.chance() else 0
        return tuple(1 if self.integer(0, 3) == 0 else size for size in shape[missing:])

    def axis(self, rank: int) -> int:
        """An axis, counted from either end."""
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int, least: int = 0) -> list[int]:
        """Some axes, each once, in any order, counted from either end."""
        chosen = self._draw(st.permutations(range(rank)))[: self.integer(least, rank)]
        return [axis - rank if self.chance() else axis for axis in chosen]

    def permutation(self, rank: int) -> list[int]:
        """All axes in any order."""
        return list(self._draw(st.permutations(range(rank))))

    def array(self, shape: Sequence[int], dtype: Any = np.float32, low: float = -3, high: float = 3) -> Array:
        """Elements between two numbers; some are equal to each other."""
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return self._numbers.integers(0, 2, shape).astype(bool)
        if kind.kind == "O":
            return np.array(self._numbers.choice(["a", "b", "C", "Dd", ""], shape), dtype=object).reshape(shape)
        if kind.kind == "u":
            low = max(low, 0)
        numbers = self._numbers.uniform(low, high, shape)
        rounded = numbers if kind.kind == "f" and self.integer(0, 3) else np.rint(numbers)
        return np.asarray(rounded).astype(kind)


Maker = Callable[[Random], Case]
OPERATORS: dict[str, Maker] = {}
"""How a random case of each operator is made."""


def operator(*names: str) -> Callable[[Callable[[Random, str], Case]], Callable[[Random, str], Case]]:
    """Register what makes cases of operators; it receives the name."""

    def register(make: Callable[[Random, str], Case]) -> Callable[[Random, str], Case]:
        for name in names:
            OPERATORS[name] = lambda random, name=name: make(random, name)  # type: ignore[misc]
        return make

    return register


@st.composite
def cases(draw: st.DrawFn, name: str) -> Case:
    """Random cases of an operator, with inputs known at compile time or not, sizes declared or not."""
    random = Random(draw)
    case = OPERATORS[name](random)
    return Case(case.operator, case.inputs, case.attributes, case.outputs, case.opset, random.chance(), random.chance())


def whole(values: Sequence[int] | int, dtype: Any = np.int64) -> Array:
    """Numbers as a tensor of whole numbers, or of another type."""
    return np.array(values, dtype)
