"""Which tensors have to be in memory while each node of a graph runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onnxperf.records.graph import Graph, GraphNode, Path
from onnxperf.records.memory import LiveTensor, TensorRole


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
    """Tensors whose size is not known; they count as nothing, so the sums are too small where there are any."""

    @property
    def peak(self) -> LiveSet | None:
        """The first node at which the most is alive; a body's node before its owner."""
        return max(self.sets, key=lambda each: each.live_bytes, default=None)


def live_sets(graph: Graph, sizes: Mapping[str, int]) -> LiveSets:
    """Walk the nodes of an executed graph in their order, with the size of each tensor in bytes.

    A tensor is alive from the node that makes it to the last one that reads it, or to the end if it is an output. A
    node's inputs and outputs are alive together: whether a kernel may write over its input is the runtime's choice,
    so this minimum is one without reuse in place, and a runtime that does it may need less. What a body reads from
    outside stays alive while its node runs, and what it returns becomes the node's outputs. Weights are not counted;
    the inputs of a body are its node's business, and not counted either.
    """
    unknown: set[str] = set()
    inputs = [_tensor(name, "input", sizes, set()) for name in graph.inputs]
    sets = tuple(_walk(graph, sizes, (), inputs, unknown))
    return LiveSets(sets=sets, unknown=frozenset(unknown))


def _walk(
    graph: Graph, sizes: Mapping[str, int], path: Path, around: list[LiveTensor], unknown: set[str]
) -> Iterator[LiveSet]:
    """The sets of a graph or body; `around` is alive outside of it all the time."""
    last_read = {name: at for at, node in enumerate(graph.nodes) for name in _read_by(node)}
    last_read |= dict.fromkeys(graph.outputs, len(graph.nodes))
    results = frozenset(graph.outputs) if not path else frozenset()
    alive: dict[str, LiveTensor] = {}
    for at, node in enumerate(graph.nodes):
        before = [*around, *alive.values()]  # a body makes the outputs of its node: they are not there meanwhile
        bodies = [
            list(_walk(body, sizes, (*path, node.name), before, unknown)) for _, body in node.subgraphs
        ]  # only one of them runs at a time
        inner = max((each for body in bodies for each in body), key=lambda each: each.live_bytes, default=None)
        for body in bodies:
            yield from body
        for name in filter(None, node.outputs):
            alive[name] = _tensor(name, "output" if name in results else "intermediate", sizes, unknown)
        own = _live_set(node, path, [*around, *alive.values()])
        yield own if inner is None or own.live_bytes > inner.live_bytes else _with_body(own, inner)
        alive = {name: tensor for name, tensor in alive.items() if last_read.get(name, -1) > at}


def _live_set(node: GraphNode, path: Path, tensors: list[LiveTensor]) -> LiveSet:
    return LiveSet(
        name=node.name,
        op_type=node.op_type,
        path=path,
        live_bytes=sum(tensor.size_bytes for tensor in tensors if tensor.role != "input"),
        alive=tuple(sorted(tensors, key=lambda tensor: (-tensor.size_bytes, tensor.name))),
    )


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
