"""Which original nodes a node of a quantized graph works for: by tensors, as the quantizer only extends their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from onnxperf.records.graph import Graph, GraphNode

CONVERSIONS = frozenset({"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"})
"""Operators that only convert from one type to another."""


@dataclass(frozen=True, eq=False)
class OriginalGraph:
    """A graph whose nodes have names, and what its tensors come from."""

    graph: Graph

    @cached_property
    def maker(self) -> dict[str, int]:
        """The node that makes a tensor, unless it is computed from constants only."""
        found: dict[str, int] = {}
        constants = set(self.graph.constants)
        for index, node in enumerate(self.graph.nodes):
            if all(tensor in constants or not tensor for tensor in node.inputs) and not node.subgraphs:
                constants.update(node.outputs)
            else:
                found.update((tensor, index) for tensor in node.outputs if tensor)
        return found

    @cached_property
    def _tensors(self) -> frozenset[str]:
        made = (tensor for node in self.graph.nodes for tensor in node.outputs)
        return frozenset({*self.graph.inputs, *self.graph.constants, *made}) - {""}

    def tensor(self, name: str) -> str:
        """The original tensor that a tensor is, or is a form of: its name begins with that one's; empty if none."""
        while name and name not in self._tensors:
            name = name.rpartition("_")[0]
        return name

    def names(self, indices: Sequence[int]) -> tuple[str, ...]:
        """Names of nodes."""
        return tuple(self.graph.nodes[index].name for index in indices)


@dataclass(frozen=True, eq=False)
class Descendant:
    """A graph made from an original: prepared, quantized or executed."""

    original: OriginalGraph
    graph: Graph

    @cached_property
    def consumers(self) -> dict[str, list[int]]:
        """The nodes that read a tensor."""
        found: dict[str, list[int]] = {}
        for position, node in enumerate(self.graph.nodes):
            for tensor in node.inputs:
                found.setdefault(tensor, []).append(position)
        return found

    @cached_property
    def producer(self) -> dict[str, int]:
        """The node that makes a tensor."""
        return {tensor: position for position, node in enumerate(self.graph.nodes) for tensor in node.outputs if tensor}

    @cached_property
    def work(self) -> tuple[tuple[int, ...], ...]:
        """For each node: the original nodes whose work it does, in their order; none for one that belongs nowhere."""
        roots = self._roots
        made = {root for position, each in enumerate(roots) for root in each if not self.converts(position)}
        slices = {root: self._slice(root, made) for root in made}
        own = [tuple(sorted({index for root in each for index in slices.get(root, ())})) for each in roots]
        return tuple(self._of_neighbour(own, at) if self.converts(at) else each for at, each in enumerate(own))

    def converts(self, position: int) -> bool:
        """Whether a node only converts."""
        return self.graph.nodes[position].op_type in CONVERSIONS

    @cached_property
    def _roots(self) -> list[tuple[str, ...]]:
        """For each node: the original tensors that it makes, or that are made of what it makes."""
        found: list[tuple[str, ...]] = [()] * len(self.graph.nodes)
        maker = self.original.maker
        for position in reversed(range(len(self.graph.nodes))):
            node = self.graph.nodes[position]
            own = [tensor for each in node.outputs if (tensor := self.original.tensor(each)) in maker]
            later = [root for each in self._readers(node) for root in found[each] if not self.converts(each)]
            found[position] = tuple(dict.fromkeys(own or later))
        return found

    def _slice(self, root: str, made: set[str]) -> set[int]:
        """The original nodes between a tensor and others that are made."""
        maker = self.original.maker
        stack, seen = [maker[root]], {maker[root]}
        while stack:
            for tensor in self.original.graph.nodes[stack.pop()].inputs:
                index = maker.get(tensor)
                if index is not None and index not in seen and tensor not in made:
                    seen.add(index)
                    stack.append(index)
        return seen

    def _of_neighbour(self, own: Sequence[tuple[int, ...]], position: int) -> tuple[int, ...]:
        """A conversion belongs to the node that computes in float32 next to it."""
        neighbour = self.breaker(position)
        return () if neighbour is None else own[neighbour]

    def breaker(self, position: int) -> int | None:
        """The node that prevents the fusion of a conversion: the maker of its input, or the reader of its output.

        Float32 is on the side of the input of a QuantizeLinear, and of the output of a DequantizeLinear. At an edge
        of the model, the node on the other side counts.
        """
        sides = (self._before, self._after)
        first, second = sides if self.graph.nodes[position].op_type == "QuantizeLinear" else sides[::-1]
        found = self._nearest(position, first)
        return found if found is not None else self._nearest(position, second)

    def _nearest(self, position: int, step: Callable[[int], list[int]]) -> int | None:
        """The next node in a direction that does more than convert."""
        waiting, seen = step(position), {position}
        while waiting:
            each = waiting.pop(0)
            if not self.converts(each):
                return each
            if each not in seen:
                seen.add(each)
                waiting += step(each)
        return None

    def _before(self, position: int) -> list[int]:
        tensors = self.graph.nodes[position].inputs[:1]
        return [self.producer[tensor] for tensor in tensors if tensor in self.producer]

    def _after(self, position: int) -> list[int]:
        return list(self._readers(self.graph.nodes[position]))

    def _readers(self, node: GraphNode) -> Iterator[int]:
        for tensor in node.outputs:
            yield from self.consumers.get(tensor, ())
