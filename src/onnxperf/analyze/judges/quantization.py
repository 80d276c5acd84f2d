"""Effects of quantization: times of original nodes before and after, remaining conversions, and the best candidate."""

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
"""Minimum share of the inference time that a layer must lose to be worth excluding."""
_FAR_SLOWER = 1.5
"""Candidates whose calls are this many times slower than float32 are not raced."""


_OUTCOMES: dict[Verdict | None, LayerOutcome] = {"faster": "won", "slower": "lost"}


class Sides(Struct, frozen=True, kw_only=True):
    """Profiles of a model in float32 and int8, with all graphs from the original to the executed ones."""

    original: Graph
    """Original graph, with names for all nodes."""
    prepared: Graph
    """Input of the quantizer."""
    quantized: Graph
    """Output of the quantizer."""
    before: Profile
    before_graph: Graph
    """Executed graph in float32."""
    after: Profile
    after_graph: Graph
    """Executed graph in int8."""
    touched: frozenset[str]
    """Nodes of the prepared model changed by the quantizer."""


# ---------------------------------------------------------------- errors and candidates


def worst_error(errors: Sequence[OutputError]) -> float | None:
    """Largest difference / largest value over all outputs; None if one is not finite."""
    errors_by_output = [each.max_relative for each in errors if each.elements]
    known = [each for each in errors_by_output if each is not None]
    return max(known) if known and len(known) == len(errors_by_output) else None


def is_acceptable(error: float | None, max_error: float) -> bool:
    """Whether an error is known and within the limit."""
    return error is not None and error <= max_error


def too_slow_to_race(ratios: Mapping[str, float], acceptable: Sequence[str]) -> set[str]:
    """Candidates far slower than float32, unless no acceptable candidate is faster."""
    quickest = min((ratios[name] for name in acceptable or ratios), default=0.0)
    return {name for name, ratio in ratios.items() if ratio > max(_FAR_SLOWER, quickest)}


def best_way(ways: Sequence[TriedWay]) -> TriedWay | None:
    """The fastest candidate with an accepted error; if there is none, the one with the smallest error."""
    ran = [each for each in ways if each.status == "ok" and each.speedup is not None]
    accepted = [each for each in ran if each.acceptable]
    if accepted:
        return max(accepted, key=lambda each: each.speedup or 0.0)
    return min((each for each in ran if each.error is not None), key=lambda each: each.error or 0.0, default=None)


def with_race(ways: Sequence[TriedWay], case: Case) -> tuple[TriedWay, ...]:
    """Candidates with their results in the race."""
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
    """The confirming race's result for int8; empty if there was none or it could not run."""
    subjects = case.subjects if case is not None else ()
    found = next((each for each in subjects if each.name == INT8 and each.status == "ok"), None)
    return Comparison() if found is None else Comparison.spelled(found, "speedup")


def way_to_take(record: Quantization) -> str:
    """The best candidate, unless it is slower than float32 in the confirming race (or else in the search)."""
    found = int8_in(record.race)
    if found.verdict is None:
        searched = (each for each in record.ways if each.way.name == record.best and each.against == FLOAT32)
        found = next((Comparison.spelled(each, "speedup") for each in searched), found)
    return "" if cannot_be_faster(found) else record.best


def cannot_be_faster(found: Comparison) -> bool:
    """Whether it is slower, or undecided but certainly not faster."""
    return found.verdict == "slower" or (found.verdict == "undecided" and found.high is not None and found.high < 1)


# ---------------------------------------------------------------- layers


def layers_of(sides: Sides) -> tuple[LayerChange, ...]:
    """Original nodes with their times before and after, largest float32 time first.

    A layer is the smallest set of original nodes whose time is known in both profiles: nodes fused on either side form
    one layer.
    """
    original = OriginalGraph(sides.original)
    indices = {node.name: (index,) for index, node in enumerate(sides.original.nodes)}
    written = Descendant(original, sides.quantized)
    named = list(zip(sides.quantized.nodes, written.work, strict=True))
    own = {node.name: sources for node, sources in named}
    # a conversion shared by several nodes does not identify the kernel that includes it
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
    """Nodes of a profile with the original nodes they work for, according to the first of `origins` that has any.

    Nodes in a body belong to the node around it, and inserted nodes belong to their readers.
    """
    readers = {tensor: node.outputs for node in reversed(graph.nodes) for tensor in node.inputs}
    by_tensor: dict[str, tuple[int, ...]] = {}
    by_name: dict[str, tuple[int, ...]] = {}
    found = []
    for node in reversed(nodes):  # a reader comes after the nodes it reads from
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
    """For each original node, the first node of its layer."""
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
    """Quantized layers that became slower."""
    whole = sum(layer.after_us for layer in layers)
    return tuple(
        layer
        for layer in layers
        if layer.quantized and layer.outcome == "lost" and layer.after_us - layer.before_us > WORTH * whole
    )


def nodes_to_exclude(sides: Sides, layers: Sequence[LayerChange]) -> tuple[str, ...]:
    """The nodes of the prepared model that do the work of layers and were changed by the quantizer."""
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
    """Whether the race shows this candidate to be faster than its baseline."""
    subjects = case.subjects if case is not None else ()
    return any(each.name == name and each.status == "ok" and each.verdict == "faster" for each in subjects)


def marked(
    layers: Sequence[LayerChange], excluded: Collection[str], errors: Mapping[tuple[str, ...], float | None]
) -> tuple[LayerChange, ...]:
    """Layers with their exclusion and errors."""
    return tuple(
        replace(layer, excluded=not set(layer.nodes).isdisjoint(excluded), error=errors.get(layer.nodes))
        for layer in layers
    )


# ---------------------------------------------------------------- conversions


def unfused_of(sides: Sides) -> tuple[UnfusedPair, ...]:
    """Conversions executed as separate nodes, most expensive first, with the node that prevents each fusion."""
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
    """The original node with the same operator, or the last one."""
    same = [index for index in sources if original.graph.nodes[index].op_type == node.op_type]
    chosen = (same or list(sources))[-1:]
    return original.names(chosen)[0] if chosen else node.name


def _why(written: Descendant, conversion: str, node: GraphNode) -> str:
    """Why a conversion is not fused: the quantizer left neighbors in float32, or onnxruntime lacks a kernel."""
    if conversion == "DynamicQuantizeLinear":
        return "with dynamic quantization, activations are quantized in every call"
    made = [tensor for tensor in node.inputs if tensor in written.producer]
    plain = [each for each in made if not written.converts(written.producer[each])]
    if plain:
        return f"the quantizer left its input {name_of(written.original.tensor(plain[0]) or plain[0])} in float32"
    readers = [each for tensor in node.outputs for each in written.consumers.get(tensor, ())]
    if not any(written.converts(each) for each in readers):
        return f"the quantizer leaves {node.op_type} in float32"
    return f"onnxruntime has no int8 kernel for this {node.op_type}"
