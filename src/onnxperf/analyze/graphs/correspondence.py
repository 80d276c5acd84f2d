"""What each tensor and node of an executed graph is in the original one."""

from __future__ import annotations

import re
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from onnxperf.records.graph import Graph, GraphNode

NAMELESS = "#"
"""Stands between operator and position of an executed node without a name; the trace uses `_` and another number."""
_PASSING = frozenset({"Identity", "Dropout"})
"""Hand their first input on when a model is only run."""
MAY_DO_NOTHING = _PASSING | {
    "Cast",
    "Expand",
    "Flatten",
    "Pad",
    "Reshape",
    "Slice",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
}
"""With the right shapes, or together, these change nothing, and onnxruntime drops them."""
_RANDOM = frozenset(
    {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
)
"""Two of these are never the same, and never a constant."""
_SHAPES = frozenset({"Shape", "Size"})
"""Known when the model is loaded, if the shape is known; then they are gone."""
_HELPERS = frozenset({"MemcpyFromHost", "MemcpyToHost", "ReorderInput", "ReorderOutput"})
"""Only onnxruntime puts these into a graph."""
_LAYOUT = frozenset({"Cast", "Transpose"})
"""Both a user's and onnxruntime's own."""
_BEFORE_QUANTISED = frozenset({"Clip", "QuantizeLinear", "Relu"})
"""Between an operator and its quantized result."""
_WITH_LAYOUT = ("Conv", "Pool")
"""Suffixes of operators around which onnxruntime transposes, fused or not."""
_INSERTED = re.compile(r"^Inserted\w*?Cast_")
_GENERATED = re.compile(r"(/\w*Fusion\w*/?|(_bn|_mul)?_nchwc)?(_token_\d+)?$")
"""What onnxruntime appends to the name of a node or a tensor to name a node that it makes."""


class Outer(NamedTuple):
    """What a body sees of the graphs around it."""

    values: ChainMap[str, int]
    constants: frozenset[str]
    numbers: Iterator[int]


# ---------------------------------------------------------------- the original graph


class Original:
    """The original graph, and what follows from it: which node makes what, what is equal, what is constant."""

    def __init__(self, graph: Graph, executed: Graph, outer: Outer) -> None:
        self.nodes = graph.nodes
        self.labels = labels_of(graph.nodes)
        self.outputs = frozenset(graph.outputs)
        self.maker: dict[str, int] = {}
        self.readers = _readers(graph.nodes)
        names = Counter(node.name for node in graph.nodes)
        self.by_name = {node.name: index for index, node in enumerate(graph.nodes) if names[node.name] == 1}
        for index, node in enumerate(graph.nodes):
            for tensor in node.outputs:
                if tensor:
                    self.maker.setdefault(tensor, index)
        self.values = _value_numbers(graph, outer)
        self.constants = _constants(graph, executed, outer)

    def made_by(self, tensor: str) -> GraphNode | None:
        """The node that a tensor comes from, if one of this graph."""
        index = self.maker.get(tensor)
        return None if index is None else self.nodes[index]

    def value(self, tensor: str) -> int:
        """Equal for tensors that are equal; -1 if unknown."""
        return self.values.get(tensor, -1)


def labels_of(nodes: Sequence[GraphNode], mark: str = "_") -> list[str]:
    """Names of nodes; operator and position for unnamed ones."""
    return [node.name or f"{node.op_type}{mark}{position}" for position, node in enumerate(nodes)]


def _readers(nodes: Sequence[GraphNode]) -> dict[str, list[int]]:
    readers: dict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(nodes):
        for tensor in dict.fromkeys(_reads(node)):
            readers[tensor].append(index)
    return readers


def _reads(node: GraphNode) -> Iterator[str]:
    yield from filter(None, node.inputs)
    for _, body in node.subgraphs:
        yield from body.outputs
        for nested in body.nodes:
            yield from _reads(nested)


def passes(node: GraphNode) -> bool:
    """Does a node just hand its input on?"""
    return node.op_type in _PASSING and not node.domain and bool(node.inputs) and bool(node.inputs[0])


def _value_numbers(graph: Graph, outer: Outer) -> ChainMap[str, int]:
    values = outer.values.new_child()
    known: dict[tuple[object, ...], int] = {}

    def number(tensor: str) -> int:
        if tensor not in values:
            values[tensor] = next(outer.numbers)
        return values[tensor]

    for tensor in chain(graph.inputs, graph.constants):
        number(tensor)
    for index, node in enumerate(graph.nodes):
        inputs = tuple(number(tensor) if tensor else -1 for tensor in node.inputs)
        unique = index if node.subgraphs or node.op_type in _RANDOM else -1
        for position, tensor in enumerate(node.outputs):
            key = (node.op_type, node.domain, node.attributes, inputs, position, unique)
            if position == 0 and passes(node):
                known[key] = inputs[0]
            if tensor:
                values.setdefault(tensor, known[key] if key in known else known.setdefault(key, next(outer.numbers)))
    return values


def _constants(graph: Graph, executed: Graph, outer: Outer) -> frozenset[str]:
    constants = set(outer.constants | graph.constants)
    made = {tensor for node in executed.nodes for tensor in node.outputs}
    for node in graph.nodes:
        if node.subgraphs or node.op_type in _RANDOM:
            continue
        known_shape = node.op_type in _SHAPES and made.isdisjoint(node.outputs)
        if known_shape or all(not tensor or tensor in constants for tensor in node.inputs):
            constants.update(filter(None, node.outputs))
    return frozenset(constants)


# ---------------------------------------------------------------- executed nodes and what they stand for


class Correspondence:
    """The executed graph, and what each of its tensors and nodes is in the original."""

    def __init__(self, original: Original, executed: Graph) -> None:
        self.original = original
        self.nodes = executed.nodes
        self.labels = labels_of(executed.nodes, NAMELESS)
        self.stands_for: dict[str, str] = {}
        """Tensors of the executed graph by what they are in the original."""
        self.inserted: set[int] = set()
        self._name_tensors()
        self._look_behind_helpers()
        guessed = self._guess_from_names()
        self.available = {original.value(tensor) for tensor in self.stands_for.values()}
        self.anchors: dict[int, list[int]] = {}
        """By executed node: the original nodes whose outputs it makes."""
        for position, node in enumerate(self.nodes):
            self._anchor(position, node, position in guessed)
        self.group: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        """Executed nodes by group; a group is called after one of its anchors."""
        self.roots: dict[int, list[int]] = defaultdict(list)
        self._join_anchors()
        self._place_the_rest(_readers(executed.nodes))
        self.owner = self._owners()

    def _name_tensors(self) -> None:
        for node in self.nodes:
            for tensor in node.outputs:
                for name in (tensor, _INSERTED.sub("", tensor)):
                    if name in self.original.maker:
                        self.stands_for.setdefault(tensor, name)

    def _look_behind_helpers(self) -> None:
        """If a helper makes a tensor of the original, its input is the same tensor in another layout."""
        made = {tensor for node in self.nodes for tensor in node.outputs}
        for position, node in reversed(list(enumerate(self.nodes))):
            tensor = self.stands_for.get(node.outputs[0]) if node.outputs else None
            if tensor is None or not node.inputs or not _may_help(node):
                continue
            maker = self.original.made_by(tensor)
            before = node.inputs[0]
            if maker is None or _does(node, maker):
                continue
            if before in made and before not in self.stands_for:
                self.stands_for[before] = tensor
            if self.original.value(self.stands_for.get(before, "")) == self.original.value(tensor):
                self.inserted.add(position)

    def _guess_from_names(self) -> set[int]:
        """If no tensor decides, the name of a node can: `r0_nchwc` makes r0, `n3_token_1` does the work of n3."""
        original, guessed = self.original, set()
        for position, node in enumerate(self.nodes):
            if _helps(node) or any(tensor in self.stands_for for tensor in node.outputs) or not node.outputs:
                continue
            base = _GENERATED.sub("", node.name)
            tensors: Sequence[str] = ()
            if base != node.name and base in original.maker:
                tensors = (base,)
            elif (index := original.by_name.get(node.name, original.by_name.get(base))) is not None:
                made = original.nodes[index]
                tensors = made.outputs if made.op_type == node.op_type or node.op_type not in _LAYOUT else ()
            pairs = [(mine, theirs) for mine, theirs in zip(node.outputs, tensors, strict=False) if mine and theirs]
            self.stands_for.update(pairs)
            if pairs:
                guessed.add(position)
        return guessed

    def _anchor(self, position: int, node: GraphNode, guessed: bool) -> None:
        if position in self.inserted:
            return
        tensors = [(tensor, self.stands_for[tensor]) for tensor in node.outputs if tensor in self.stands_for]
        if not tensors and node.outputs and node.inputs and _may_help(node):
            self.stands_for[node.outputs[0]] = self.stands_for.get(node.inputs[0], node.inputs[0])
        if guessed:
            mine, theirs = tensors[0]
            self.stands_for[mine] = last = self._absorb(node, theirs)
            self.available.add(self.original.value(last))
            tensors[0] = (mine, last)
        if tensors:
            makers = (self._maker(node, theirs) for _, theirs in tensors if theirs in self.original.maker)
            self.anchors[position] = list(dict.fromkeys(makers))

    def _absorb(self, node: GraphNode, tensor: str) -> str:
        """Go on over the original nodes that this one does too: a sum with one of its inputs, its activation."""
        original, activation = self.original, node.activation
        operands = {original.value(self.stands_for.get(each, each)) for each in node.inputs if each}
        for _ in original.nodes:
            readers = original.readers.get(tensor, [])
            if len(readers) != 1 or tensor in original.outputs:
                break
            reader = original.nodes[readers[0]]
            after = reader.outputs[0] if reader.outputs else ""
            others = [each for each in reader.inputs if each and each != tensor and each not in original.constants]
            if not after or (original.value(after) in self.available and not passes(reader)):
                break
            quantised = node.op_type.startswith("QLinear") and reader.op_type in _BEFORE_QUANTISED
            if reader.op_type == activation:
                activation = ""
            elif (
                not quantised
                and not passes(reader)
                and not (others and all(original.value(each) in operands for each in others))
            ):
                break
            tensor = after
        return tensor

    def _maker(self, node: GraphNode, tensor: str) -> int:
        """The original node that made a tensor, before dropped nodes that changed nothing."""
        original = self.original
        start = index = original.maker[tensor]
        for _ in original.nodes:
            maker = original.nodes[index]
            before = original.maker.get(maker.inputs[0]) if maker.inputs else None
            if is_same(node, maker):
                return index
            if maker.op_type not in MAY_DO_NOTHING or maker.op_type == node.op_type or before is None:
                break
            does_nothing = passes(maker)
            if not does_nothing and original.value(maker.inputs[0]) in self.available:
                break
            start = before if does_nothing and start == index else start
            index = before
        return start

    def _join_anchors(self) -> None:
        """Executed nodes that make outputs of one original node are one group."""
        parent: dict[int, int] = {}

        def find(anchor: int) -> int:
            while (above := parent.setdefault(anchor, anchor)) != anchor:
                parent[anchor] = parent[above]
                anchor = above
            return anchor

        for anchors in self.anchors.values():
            for anchor in anchors[1:]:
                parent[find(anchor)] = find(anchors[0])
        for position, anchors in self.anchors.items():
            if anchors:
                self.group[position] = key = find(anchors[0])
                self.roots[key] = list(dict.fromkeys((*self.roots[key], *anchors)))
        self._list_members()

    def _list_members(self) -> None:
        self.members = defaultdict(list)
        for position in sorted(self.group):
            self.members[self.group[position]].append(position)

    def _place_the_rest(self, readers: Mapping[str, Sequence[int]]) -> None:
        """A node that only one group needs is part of it; helpers stay apart."""
        users: dict[int, set[int]] = {}
        for position, node in reversed(list(enumerate(self.nodes))):
            if position in self.group:
                continue
            needed: set[int] = set()
            for reader in chain.from_iterable(readers.get(tensor, ()) for tensor in node.outputs if tensor):
                needed |= {self.group[reader]} if reader in self.group else users.get(reader, set())
                if len(needed) > 1:
                    break
            users[position] = set(sorted(needed)[:2])
            key = next(iter(needed)) if len(needed) == 1 else None
            layout = node.op_type in _LAYOUT and (key is None or self._does_itself(key))
            if position in self.inserted or _helps(node) or layout:
                self.inserted.add(position)
            elif key is not None:
                self.group[position] = key
        self._list_members()

    def _does_itself(self, key: int) -> bool:
        """Does a group still execute the operator that it stands for? Then it needs no more nodes for that."""
        operators = (*(self.original.nodes[index].op_type for index in self.roots[key]), *_WITH_LAYOUT)
        # FusedConv, QLinearConv and NhwcMaxPool do what their names end in.
        return any(self.nodes[position].op_type.endswith(operators) for position in self.members[key])

    def _owners(self) -> dict[int, int]:
        """The group that makes each value; -1 where several do."""
        owner: dict[int, int] = {}
        for position, anchors in self.anchors.items():
            for tensor in self.nodes[position].outputs if anchors else ():
                if tensor in self.stands_for:
                    value = self.original.value(self.stands_for[tensor])
                    key = self.group[position]
                    owner[value] = key if owner.get(value, key) == key else -1
        return owner


def _helps(node: GraphNode) -> bool:
    return node.op_type in _HELPERS or (node.op_type == "Cast" and bool(_INSERTED.match(node.name)))


def _may_help(node: GraphNode) -> bool:
    return _helps(node) or node.op_type in _LAYOUT


def _does(helper: GraphNode, maker: GraphNode) -> bool:
    """Is this the user's own node, rather than one that onnxruntime put after it? A reorder can transpose, too."""
    return helper.op_type == maker.op_type or (helper.op_type in _HELPERS and maker.op_type == "Transpose")


def is_same(node: GraphNode, other: GraphNode) -> bool:
    """Do both compute the same of their inputs?"""
    return (node.op_type, node.domain, node.attributes, len(node.inputs)) == (
        other.op_type,
        other.domain,
        other.attributes,
        len(other.inputs),
    )
