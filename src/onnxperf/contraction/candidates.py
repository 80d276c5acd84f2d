"""All candidate graphs for one equation, without duplicates, the most promising first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import onnx

from onnxperf.contraction.equation import Equation, Letters
from onnxperf.contraction.graph import DEFAULT_OPSET, Draft, DraftNode, check_target, to_model
from onnxperf.contraction.lower import Lowering, lowerings, setting_of
from onnxperf.contraction.orders import as_written, decompose, letter_orders, own_einsum, plain_einsum

MAX_CANDIDATES = 200
_SEARCHED = 150
_SEARCHED_ORDERS = 120
"""Maximum number of letter orders whose graphs are candidates: all orders of five letters."""
_EINSUM_ORDERS = 6
"""Number of candidates that let onnxruntime's Einsum use another axis order."""
_SILENT = {"Reshape", "Flatten", "Filled", "Cast"}
"""Nodes omitted from descriptions, as they do not characterize a candidate."""


@dataclass(frozen=True)
class Candidate:
    """One graph for an equation."""

    name: str
    """The strategy in a few words, unique within a list of candidates."""
    order: Letters
    """The letter order that it comes from."""
    draft: Draft = field(repr=False)
    """Its structure: equal for equal graphs."""
    dtype: str
    opset: int
    cost_us: float = field(compare=False)
    """Estimated microseconds per call."""

    @cached_property
    def model(self) -> onnx.ModelProto:
        """The graph with inputs X0, X1, ... and output Y."""
        return to_model(self.draft, self.dtype, self.opset)


def candidates(
    equation: Equation, dtype: str = "float32", opset: int = DEFAULT_OPSET, portable: bool = False
) -> list[Candidate]:
    """Distinct graphs for an equation, lowest estimate first; onnxruntime's own Einsum is always included."""
    check_target(dtype, opset)
    setting = setting_of(equation, dtype, portable)
    always = [decompose(equation, as_written(equation), setting), plain_einsum(equation, setting)]
    others = lowerings(equation, setting, _SEARCHED)
    orders = list(letter_orders(equation, _SEARCHED_ORDERS))
    others += [decompose(equation, order, setting) for order in orders]
    others += _cheapest((own_einsum(equation, order, setting) for order in orders), _EINSUM_ORDERS)
    chosen = _distinct([*always, *_cheapest(others, MAX_CANDIDATES)])[:MAX_CANDIDATES]
    return _named(_cheapest(chosen, MAX_CANDIDATES), dtype, opset)


def decompositions(
    equation: Equation, dtype: str = "float32", opset: int = DEFAULT_OPSET, portable: bool = False
) -> list[tuple[Letters, Candidate]]:
    """Every letter order, the equation as written first, with its graph; many orders share one."""
    check_target(dtype, opset)
    setting = setting_of(equation, dtype, portable)
    orders = list(letter_orders(equation))
    rows = [decompose(equation, order, setting) for order in orders]
    by_draft = {each.draft: each for each in _named(_distinct(rows), dtype, opset)}
    return [(order, by_draft[row.draft]) for order, row in zip(orders, rows, strict=True)]


def decomposition(
    equation: Equation, order: Letters, dtype: str = "float32", opset: int = DEFAULT_OPSET, portable: bool = False
) -> onnx.ModelProto:
    """The graph for one letter order."""
    check_target(dtype, opset)
    return to_model(decompose(equation, order, setting_of(equation, dtype, portable)).draft, dtype, opset)


def einsum_as_written(equation: Equation, dtype: str = "float32", opset: int = DEFAULT_OPSET) -> onnx.ModelProto:
    """A single Einsum node."""
    check_target(dtype, opset)
    return to_model(plain_einsum(equation, setting_of(equation, dtype, True)).draft, dtype, opset)


def _cheapest(ways: Iterable[Lowering], limit: int) -> list[Lowering]:
    return sorted(_distinct(ways), key=lambda way: way.draft.microseconds)[:limit]


def _distinct(ways: Iterable[Lowering]) -> list[Lowering]:
    found: dict[Draft, Lowering] = {}
    for way in ways:
        found.setdefault(way.draft, way)
    return list(found.values())


def _named(ways: Iterable[Lowering], dtype: str, opset: int) -> list[Candidate]:
    counts: Counter[str] = Counter()
    result = []
    for way in ways:
        name = describe(way.draft)
        counts[name] += 1
        unique = name if counts[name] == 1 else f"{name} #{counts[name]}"
        result.append(Candidate(unique, way.letters, way.draft, dtype, opset, way.draft.microseconds))
    return result


def describe(draft: Draft) -> str:
    """The operations of a draft, in the order of its nodes."""
    return " > ".join(_words(draft)) or "Reshape"


def _words(draft: Draft) -> Iterator[str]:
    for node in draft.nodes:
        if node.op not in _SILENT:
            yield _word(node)


def _word(node: DraftNode) -> str:
    attributes = dict(node.attributes)
    if node.body is not None:
        return f"Scan {node.shape[0]}x ({describe(node.body)})"
    perm = attributes.get("perm")
    if isinstance(perm, tuple):
        return f"Transpose {''.join(map(str, perm)) if len(perm) < 10 else ' '.join(map(str, perm))}"
    if node.op == "Einsum":
        return f"Einsum {attributes['equation']}"
    flags = [name for name in attributes if name.startswith("trans")]
    return f"{node.op}({', '.join(flags)})" if flags else node.op
