"""What quantising changed: time of original nodes before and after, conversions that stayed, and which way is best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.analyze.graphs.quantized import CONVERSIONS, Descendant, OriginalGraph
from onnxperf.analyze.judges.node_times import TimedPair, compare_times, launch_sums
from onnxperf.records.comparison import Comparison, Verdict
from onnxperf.records.graph import Graph, GraphNode
from onnxperf.records.profile import NodeTime, Profile, sum_of
from onnxperf.records.quantize import (
    FLOAT32,
    INT8,
    LayerChange,
    LayerOutcome,
    OutputError,
    Quantization,
    TriedWay,
    UnfusedPair,
)
from onnxperf.records.race import Case
from onnxperf.wording.names import name_of

WORTH = 0.005
"""Part of the time of an inference that a layer has to lose before it is worth another trial."""
_FAR_SLOWER = 1.5
"""Calls of a way that take so many times as long as those of float32 are not worth a race."""


_OUTCOMES: dict[Verdict | None, LayerOutcome] = {"faster": "won", "slower": "lost"}


class Sides(Struct, frozen=True, kw_only=True):
    """Profiles of a model in float32 and in int8, with all graphs between the original and what is executed."""

    original: Graph
    """Every node has a name."""
    prepared: Graph
    """What the quantiser was given."""
    quantized: Graph
    """What it wrote."""
    before: Profile
    before_graph: Graph
    """What is executed in float32."""
    after: Profile
    after_graph: Graph
    """What is executed in int8."""
    touched: frozenset[str]
    """Nodes of the prepared model that the quantiser touched."""


# ---------------------------------------------------------------- errors and ways


def worst_error(errors: Sequence[OutputError]) -> float | None:
    """Largest difference / largest value of an output, the worst of all; None where one is not finite."""
    errors_by_output = [each.max_relative for each in errors if each.elements]
    known = [each for each in errors_by_output if each is not None]
    return max(known) if known and len(known) == len(errors_by_output) else None


def is_acceptable(error: float | None, max_error: float) -> bool:
    """Whether an error is known and within the limit."""
    return error is not None and error <= max_error


def too_slow_to_race(ratios: Mapping[str, float], acceptable: Sequence[str]) -> set[str]:
    """Ways whose calls take far longer than those of float32, unless no other is acceptable and faster than these."""
    quickest = min((ratios[name] for name in acceptable or ratios), default=0.0)
    return {name for name, ratio in ratios.items() if ratio > max(_FAR_SLOWER, quickest)}


def best_way(ways: Sequence[TriedWay]) -> TriedWay | None:
    """The fastest of those whose error is accepted; where none is, the one with the smallest error."""
    ran = [each for each in ways if each.status == "ok" and each.speedup is not None]
    accepted = [each for each in ran if each.acceptable]
    if accepted:
        return max(accepted, key=lambda each: each.speedup or 0.0)
    return min((each for each in ran if each.error is not None), key=lambda each: each.error or 0.0, default=None)


def with_race(ways: Sequence[TriedWay], case: Case) -> tuple[TriedWay, ...]:
    """Ways with what the race says of them."""
    subjects = {subject.name: subject for subject in case.subjects}
    found = []
    for each in ways:
        subject = subjects.get(each.way.name)
        if subject is None or each.status != "ok":
            found.append(each)
            continue
        compared = Comparison.spelled(subject, "speedup")
        raced = replace(
            each,
            status=subject.status,
            reason=compared.reason if subject.status != "ok" else "",
            verdict=compared.verdict,
            against=case.baseline or each.against,
            **compared.named("speedup"),
        )
        found.append(raced)
    return tuple(found)


def int8_in(case: Case | None) -> Comparison:
    """What the confirming race says of int8; nothing where there is none, or it could not be run."""
    subjects = case.subjects if case is not None else ()
    found = next((each for each in subjects if each.name == INT8 and each.status == "ok"), None)
    return Comparison() if found is None else Comparison.spelled(found, "speedup")


def way_to_take(record: Quantization) -> str:
    """The best way, unless it is slower than float32: by the confirming race, or else by that of the search."""
    found = int8_in(record.race)
    if found.verdict is None:
        searched = (each for each in record.ways if each.way.name == record.best and each.against == FLOAT32)
        found = next((Comparison.spelled(each, "speedup") for each in searched), found)
    return "" if cannot_be_faster(found) else record.best


def cannot_be_faster(found: Comparison) -> bool:
    """Whether it is slower, or undecided only in how much: then nobody wants it."""
    return found.verdict == "slower" or (found.verdict == "undecided" and found.high is not None and found.high < 1)


# ---------------------------------------------------------------- layers


def layers_of(sides: Sides) -> tuple[LayerChange, ...]:
    """Original nodes with their time before and after, the largest in float32 first.

    A layer is the smallest set of original nodes whose time both profiles can tell: what is fused on one side is one.
    """
    original = OriginalGraph(sides.original)
    indices = {node.name: (index,) for index, node in enumerate(sides.original.nodes)}
    written = Descendant(original, sides.quantized)
    named = list(zip(sides.quantized.nodes, written.work, strict=True))
    own = {node.name: sources for node, sources in named}
    # a conversion that several nodes share says nothing about the kernel that does it on the way
    plain = {node.name: sources for node, sources in named if node.op_type not in CONVERSIONS}
    before = _timed(sides.before.nodes, sides.before_graph, (indices,))
    after = _timed(sides.after.nodes, sides.after_graph, (plain, own))
    layer = _components(len(sides.original.nodes), [sources for _, sources in (*before, *after)])
    members: dict[int, list[int]] = defaultdict(list)
    for index in range(len(sides.original.nodes)):
        members[layer[index]].append(index)
    touched = _touched(original, sides)
    changes, pairs = [], []
    for key, mine in members.items():
        timed = [[node for node, sources in side if sources and layer[sources[0]] == key] for side in (before, after)]
        if any(timed):
            change = _change(original, mine, timed[0], timed[1], not touched.isdisjoint(mine))
            launches = launch_sums(sides.before, timed[0]), launch_sums(sides.after, timed[1])
            changes.append(change)
            pairs.append(TimedPair(*launches, (change.before_us, change.after_us)))
    judged = [
        replace(change, outcome=_OUTCOMES.get(found.verdict, "same"))
        for change, found in zip(changes, compare_times(pairs), strict=True)
    ]
    return tuple(sorted(judged, key=lambda each: -each.before_us))


def _timed(
    nodes: Sequence[NodeTime], graph: Graph, origins: Sequence[Mapping[str, tuple[int, ...]]]
) -> list[tuple[NodeTime, tuple[int, ...]]]:
    """Nodes of a profile with the original nodes that they work for, by the first of `origins` that knows some.

    What is in a body works for the node around it; what onnxruntime inserted works for what reads it.
    """
    readers = {tensor: node.outputs for node in reversed(graph.nodes) for tensor in node.inputs}
    by_tensor: dict[str, tuple[int, ...]] = {}
    by_name: dict[str, tuple[int, ...]] = {}
    found = []
    for node in reversed(nodes):  # a reader comes later than what it reads
        sources = next(filter(None, (_sources(node.sources, own) for own in origins)), ())
        sources = sources or by_name.get(node.path[0] if node.path else "", ())
        later = (tensor for each in node.tensors for tensor in readers.get(each, ()))
        sources = sources or next((by_tensor[tensor] for tensor in later if tensor in by_tensor), ())
        by_tensor.update(dict.fromkeys(node.tensors, sources))
        by_name[node.name] = sources
        found.append((node, sources))
    return found[::-1]


def _sources(names: Sequence[str], own: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted({index for name in names for index in own.get(name, ())}))


def _components(number: int, groups: Sequence[tuple[int, ...]]) -> list[int]:
    """For each original node the first of those that it cannot be told apart from."""
    parent = list(range(number))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for group in groups:
        for index in group[1:]:
            one, other = sorted((find(group[0]), find(index)))
            parent[other] = one
    return [find(index) for index in range(number)]


def _touched(original: OriginalGraph, sides: Sides) -> set[int]:
    prepared = Descendant(original, sides.prepared)
    named = zip(sides.prepared.nodes, prepared.work, strict=True)
    return {index for node, sources in named if node.name in sides.touched for index in sources}


def _change(
    original: OriginalGraph,
    indices: Sequence[int],
    before: Sequence[NodeTime],
    after: Sequence[NodeTime],
    quantized: bool,
) -> LayerChange:
    conversions = [node for node in after if node.op_name in CONVERSIONS]
    return LayerChange(
        nodes=original.names(indices),
        ops=tuple(original.graph.nodes[index].op_type for index in indices),
        before_us=sum_of(before),
        after_us=sum_of(after),
        convert_us=sum_of(conversions),
        kernels=tuple(node.op_name for node in after if node.op_name not in CONVERSIONS),
        quantized=quantized,
    )


# ---------------------------------------------------------------- what to leave in float32


def to_exclude(layers: Sequence[LayerChange]) -> tuple[LayerChange, ...]:
    """Layers that were quantised and are slower for it."""
    whole = sum(layer.after_us for layer in layers)
    return tuple(
        layer
        for layer in layers
        if layer.quantized and layer.outcome == "lost" and layer.after_us - layer.before_us > WORTH * whole
    )


def nodes_to_exclude(sides: Sides, layers: Sequence[LayerChange]) -> tuple[str, ...]:
    """The nodes of the prepared model that do the work of layers, as far as the quantiser touched them."""
    original = OriginalGraph(sides.original)
    wanted = {name for layer in layers for name in layer.nodes}
    prepared = Descendant(original, sides.prepared)
    named = zip(sides.prepared.nodes, prepared.work, strict=True)
    return tuple(
        node.name
        for node, sources in named
        if node.name in sides.touched and not wanted.isdisjoint(original.names(sources))
    )


def is_faster(case: Case | None, name: str) -> bool:
    """Whether the race shows that this one is faster than its baseline."""
    subjects = case.subjects if case is not None else ()
    return any(each.name == name and each.status == "ok" and each.verdict == "faster" for each in subjects)


def marked(
    layers: Sequence[LayerChange], excluded: Collection[str], errors: Mapping[tuple[str, ...], float | None]
) -> tuple[LayerChange, ...]:
    """Layers with what was found out about them since."""
    return tuple(
        replace(layer, excluded=not set(layer.nodes).isdisjoint(excluded), error=errors.get(layer.nodes))
        for layer in layers
    )


# ---------------------------------------------------------------- conversions


def unfused_of(sides: Sides) -> tuple[UnfusedPair, ...]:
    """Conversions that are executed as nodes of their own, the costliest first, with the node that breaks each."""
    original = OriginalGraph(sides.original)
    written = Descendant(original, sides.quantized)
    positions = {node.name: position for position, node in enumerate(sides.quantized.nodes)}
    found = []
    for time in sides.after.nodes:
        position = next((positions[name] for name in time.sources if name in positions), None)
        if time.op_name not in CONVERSIONS or time.path or position is None:
            continue
        node = sides.quantized.nodes[position]
        breaker = written.breaker(position)
        edge = _edge(node, sides.quantized)
        broken = sides.quantized.nodes[breaker] if breaker is not None and not edge else None
        found.append(
            UnfusedPair(
                op_name=time.op_name,
                tensor=original.tensor(node.inputs[0]) or node.inputs[0],
                node=_name(original, written.work[breaker], broken)
                if broken is not None and breaker is not None
                else "",
                node_op=broken.op_type if broken is not None else "",
                why=edge or ("" if broken is None else _why(written, time.op_name, broken)),
                time_us=time.usual_us,
            )
        )
    return tuple(sorted(found, key=lambda each: -each.time_us))


def _edge(node: GraphNode, graph: Graph) -> str:
    if node.op_type == "QuantizeLinear" and node.inputs and node.inputs[0] in graph.inputs:
        return "an input of the model is float32"
    if node.op_type == "DequantizeLinear" and not set(node.outputs).isdisjoint(graph.outputs):
        return "an output of the model is float32"
    return ""


def _name(original: OriginalGraph, sources: tuple[int, ...], node: GraphNode) -> str:
    """The original node of the same operator, or the last one."""
    same = [index for index in sources if original.graph.nodes[index].op_type == node.op_type]
    chosen = (same or list(sources))[-1:]
    return original.names(chosen)[0] if chosen else node.name


def _why(written: Descendant, conversion: str, node: GraphNode) -> str:
    """What the written graph lacks around the node, or that onnxruntime has no kernel for all that it has."""
    if conversion == "DynamicQuantizeLinear":
        return "in a dynamic way, activations are quantised in every call"
    made = [tensor for tensor in node.inputs if tensor in written.producer]
    plain = [each for each in made if not written.converts(written.producer[each])]
    if plain:
        return f"the quantiser left its input {name_of(written.original.tensor(plain[0]) or plain[0])} in float32"
    readers = [each for tensor in node.outputs for each in written.consumers.get(tensor, ())]
    if not any(written.converts(each) for each in readers):
        return f"the quantiser leaves {node.op_type} in float32"
    return f"onnxruntime has no int8 kernel for this {node.op_type}"
