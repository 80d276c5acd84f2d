"""Which tensors have to be in memory while each node of a graph runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from onnxperf.records.graph import Graph, GraphNode, Path
from onnxperf.records.memory import LiveTensor, TensorRole

APART = frozenset(
    str.split("""
    Attention AveragePool Concat Conv ConvInteger ConvTranspose FusedGemm FusedMatMul GRU Gemm LSTM MatMul MatMulInteger
    MaxPool MultiHeadAttention QLinearConv QLinearMatMul RNN ReorderInput ReorderOutput
    """)
)
"""Operators that read their inputs while they write their results."""
OVERWRITING = frozenset(
    str.split("""
    Abs Acos Acosh Add Asin Asinh Atan Atanh BatchNormalization BiasGelu BiasSoftmax Ceil Celu Cos Cosh Div Elu Erf Exp
    FastGelu Floor FusedConv Gelu GroupNormalization HardSigmoid HardSwish InstanceNormalization LRN LayerNormalization
    LeakyRelu Log LogSoftmax Mish Mod Mul Neg PRelu Pow QuickGelu RMSNormalization Reciprocal Relu Round Selu Sigmoid
    Sign SimplifiedLayerNormalization Sin Sinh SkipLayerNormalization Softmax Softplus Softsign Sqrt Sub Tan Tanh
    ThresholdedRelu Where
    """)
)
"""Operators that may write their first result over an input of the same size that is not read afterwards."""
_ADDED_INPUT = 3
"""A convolution of onnxruntime may write its result over the tensor that it adds."""
_REPEATING = frozenset(("Expand", "ConstantOfShape"))
"""Operators whose result may be a view that repeats a smaller tensor."""
_RANDOM = frozenset(("RandomNormal", "RandomUniform", "Multinomial", "Bernoulli"))
"""Operators with random results."""


@dataclass(frozen=True, kw_only=True)
class LiveSet:
    """What is alive while a node runs."""

    name: str
    op_type: str
    path: Path
    """Nodes in whose bodies it is, the outermost first."""
    live_bytes: int
    """Intermediate results and outputs; of a node with bodies, what the largest of these needs, if that is more."""
    alive: tuple[LiveTensor, ...]
    """The largest first; the graph's inputs are there too, though they are the caller's and not counted."""


@dataclass(frozen=True, kw_only=True)
class LiveSets:
    """A set for every node, in the order of execution; nodes of bodies come before the node that has the body."""

    sets: tuple[LiveSet, ...]
    unknown: frozenset[str]
    """Tensors of unknown size; they count as zero, so the sums are too small if there are any."""

    @property
    def peak(self) -> LiveSet | None:
        """The first node that needs the most, among equals the one with the most alive; a body's before its owner."""
        return max(self.sets, key=lambda each: (each.live_bytes, _listed_bytes(each)), default=None)


def live_sets(graph: Graph, sizes: Mapping[str, int]) -> LiveSets:
    """Walk the nodes of an executed graph in their order, with the size of each tensor in bytes.

    A tensor is alive from the node that makes it to the last one that reads it, or to the end if it is an output. This
    is the least that any runtime needs which executes one node after the other, so it counts what all of them need:
    an operator of `APART` has its inputs and outputs next to each other, one of `OVERWRITING` may write over an input
    that ends there, and the result of any other (Reshape, Transpose, Slice, one that is not known…) may be a view of
    its first input, unless it is larger than that. What is made of constants alone is made when the model is loaded.
    What a body reads from outside stays alive while its node runs, and what it returns becomes the node's outputs.
    Weights are not counted; the inputs of a body are its node's business, and not counted either.
    """
    unknown: set[str] = set()
    inputs = [_tensor(name, "input", sizes, set()) for name in graph.inputs]
    sets = tuple(_walk(graph, sizes, (), _Memory(inputs, set(graph.constants)), unknown))
    return LiveSets(sets=sets, unknown=frozenset(unknown))


@dataclass
class _Memory:
    """What a graph or body has in memory at a node, and whose memory that is."""

    around: list[LiveTensor]
    """Alive outside of the graph all the time."""
    fixed: set[str]
    """Tensors that are the same in every call."""
    alive: dict[str, LiveTensor] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    """For each tensor made here, the tensor whose memory it uses: itself, or the one it may be a view of."""
    taken: dict[str, int] = field(default_factory=dict)
    """Memory of the owners, whether they are still alive or not; inputs and constants take none that counts."""

    def add(self, node: GraphNode, tensor: LiveTensor, sizes: Mapping[str, int]) -> None:
        """Let a node make a tensor."""
        self.alive[tensor.name] = tensor
        source = _viewed(node)
        if _takes_memory(node) or _exceeds(node, tensor.size_bytes, sizes.get(source)):
            self.owners[tensor.name], self.taken[tensor.name] = tensor.name, tensor.size_bytes
        else:
            self.owners[tensor.name] = self.owners.get(source, source)

    def overwritten(self, node: GraphNode, after: Mapping[str, LiveTensor]) -> tuple[str, str]:
        """An input that ends here and the result that can overwrite it; empty names if there is none."""
        result = node.outputs[0] if node.outputs else ""
        candidates = node.inputs if node.op_type in OVERWRITING else node.inputs[_ADDED_INPUT:]
        if not result or not (node.op_type in OVERWRITING or node.op_type == "Conv"):
            return "", ""
        kept = {self.owners[name] for name in after}
        for name in candidates:
            ends = self.owners.get(name) == name and name in self.alive and name not in kept
            if ends and self.taken[name] == self.taken[result]:
                return name, result
        return "", ""

    def tensors(self, overwritten: tuple[str, str] = ("", "")) -> list[LiveTensor]:
        """All that is alive; what may lie in the memory of another tensor names it, and counts nothing."""
        left, found = dict(self.taken), list(self.around)
        # An owner comes before its views, and of these the largest first.
        for tensor in sorted(
            self.alive.values(), key=lambda each: (self.owners[each.name] != each.name, -each.size_bytes)
        ):
            owner = self.owners[tensor.name]
            fits = owner in left and tensor.size_bytes <= left[owner]
            if fits:
                left[owner] -= tensor.size_bytes
            shared = overwritten[1] if tensor.name == overwritten[0] else owner
            found.append(tensor if fits and tensor.name != overwritten[0] else replace(tensor, within=shared))
        return found


def _walk(graph: Graph, sizes: Mapping[str, int], path: Path, memory: _Memory, unknown: set[str]) -> Iterator[LiveSet]:
    """The sets of a graph or body."""
    last_read = {name: at for at, node in enumerate(graph.nodes) for name in _read_by(node)}
    last_read |= dict.fromkeys(graph.outputs, len(graph.nodes))
    results = frozenset(graph.outputs) if not path else frozenset()
    for at, node in enumerate(graph.nodes):
        if _is_fixed(node, memory.fixed):
            memory.fixed.update(node.outputs)
            yield _live_set(node, path, memory.tensors())
            continue
        before = memory.tensors()  # a body makes the outputs of its node: they are not there meanwhile
        bodies = [
            list(_walk(body, sizes, (*path, node.name), _Memory(before, memory.fixed | body.constants), unknown))
            for _, body in node.subgraphs
        ]  # only one of them runs at a time
        inner = max((each for body in bodies for each in body), key=lambda each: each.live_bytes, default=None)
        for body in bodies:
            yield from body
        for name in filter(None, node.outputs):
            memory.add(node, _tensor(name, "output" if name in results else "intermediate", sizes, unknown), sizes)
        after = {name: tensor for name, tensor in memory.alive.items() if last_read.get(name, -1) > at}
        own = _live_set(node, path, memory.tensors(memory.overwritten(node, after)))
        yield own if inner is None or own.live_bytes > inner.live_bytes else _with_body(own, inner)
        memory.alive = after


def _takes_memory(node: GraphNode) -> bool:
    """Whether the results of a node are never views; of a node with bodies, whether none of these returns a view."""
    made = [{name: each for each in body.nodes for name in each.outputs} for _, body in node.subgraphs]
    returned = [found.get(name) for (_, body), found in zip(node.subgraphs, made, strict=True) for name in body.outputs]
    if returned:
        return all(maker is not None and _takes_memory(maker) for maker in returned)
    return node.op_type in APART or node.op_type in OVERWRITING or node.op_type in _RANDOM


def _viewed(node: GraphNode) -> str:
    """The tensor that a result may be a view of: the first input, or an input that a body returns."""
    source = next(filter(None, node.inputs), node.op_type)
    for _, body in node.subgraphs[:1]:
        made = {name: each for each in body.nodes for name in each.outputs}
        name = next(iter(body.outputs), "")
        while name in made:
            name = next(filter(None, made[name].inputs), "")
        source = name if name and name not in body.inputs else source
    return source


def _exceeds(node: GraphNode, size: int, source: int | None) -> bool:
    """Whether a result is larger than what it would be a view of; a body may return a view of anything it reads."""
    return source is not None and size > source and node.op_type not in _REPEATING and not node.subgraphs


def _is_fixed(node: GraphNode, fixed: set[str]) -> bool:
    """Whether a node makes the same in every call, so that it can be computed when the model is loaded."""
    if node.subgraphs or node.op_type in _RANDOM:
        return False
    return all(name in fixed for name in node.inputs if name)


def _live_set(node: GraphNode, path: Path, tensors: list[LiveTensor]) -> LiveSet:
    counted = (tensor.size_bytes for tensor in tensors if tensor.role != "input" and not tensor.within)
    return LiveSet(
        name=node.name,
        op_type=node.op_type,
        path=path,
        live_bytes=sum(counted),
        alive=tuple(sorted(tensors, key=lambda tensor: (-tensor.size_bytes, tensor.name))),
    )


def _listed_bytes(live: LiveSet) -> int:
    return sum(tensor.size_bytes for tensor in live.alive)


def _with_body(own: LiveSet, inner: LiveSet) -> LiveSet:
    """The node at the moment when its body needs the most."""
    return LiveSet(name=own.name, op_type=own.op_type, path=own.path, live_bytes=inner.live_bytes, alive=inner.alive)


def _read_by(node: GraphNode) -> set[str]:
    """What a node reads, its bodies included."""
    return {name for name in node.inputs if name}.union(*(_captured(body) for _, body in node.subgraphs))


def _captured(body: Graph) -> set[str]:
    """What a body reads from outside."""
    made = {name for node in body.nodes for name in node.outputs}
    read = set(body.outputs).union(*(_read_by(node) for node in body.nodes))
    return read - made - set(body.inputs) - body.constants


def _tensor(name: str, role: TensorRole, sizes: Mapping[str, int], unknown: set[str]) -> LiveTensor:
    if name not in sizes:
        unknown.add(name)
    return LiveTensor(name=name, size_bytes=sizes.get(name, 0), role=role)
