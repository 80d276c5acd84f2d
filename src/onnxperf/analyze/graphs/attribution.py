"""Time of the executed graph, given back to the groups of original nodes that it was spent for."""

from __future__ import annotations

import math
import re
from collections import ChainMap, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.graphs.correspondence import (
    MAY_DO_NOTHING,
    NAMELESS,
    Correspondence,
    Original,
    Outer,
    is_same,
    labels_of,
    passes,
)
from onnxperf.records.graph import Graph, GraphNode, Path
from onnxperf.records.profile import GroupKind, NodeTime, SourceGroup, SourceTime, added, sum_of

_Place = tuple[int, int]
"""A group, and the number of an executed node in it."""
_BRANCH = re.compile(r"_if_(then_branch|else_branch)_(token_\d+_)?")
"""What onnxruntime puts before the names of a branch whose condition is constant."""


# ---------------------------------------------------------------- groups


def attribute(source: Graph, executed: Graph) -> tuple[SourceGroup, ...]:
    """Groups of original nodes, each with the executed nodes that replaced it, in the order of execution.

    Every executed node is in exactly one group, every original one in at least one; those that are gone come last.
    """
    return tuple(_attribute(source, executed, (), Outer(ChainMap(), frozenset(), count())))


def _attribute(source: Graph, executed: Graph, path: Path, outer: Outer) -> Iterator[SourceGroup]:
    source, left_behind = _with_taken_branches(source, executed, path)
    original = Original(source, executed, outer)
    matching = Correspondence(original, executed)
    members = {key: _slice(matching, key) for key in matching.members}
    for position in range(len(executed.nodes)):
        key = matching.group.get(position)
        if key is None:
            yield _group(
                matching, path, "inserted" if position in matching.inserted else "unattributed", (), [position]
            )
        elif matching.members[key][0] == position:
            yield _executed_group(matching, path, members[key], matching.members[key])
    covered = set(chain.from_iterable(members.values()))
    yield from _gone(original, covered, path)
    yield from left_behind
    inner = Outer(original.values, original.constants, outer.numbers)
    yield from _bodies(matching, members, covered, path, inner)


def _executed_group(
    matching: Correspondence, path: Path, sources: Sequence[int], executed: Sequence[int]
) -> SourceGroup:
    alone = len(sources) == len(executed) == 1
    same = alone and matching.original.nodes[sources[0]].op_type == matching.nodes[executed[0]].op_type
    return _group(matching, path, "kept" if same else "fused", sources, executed)


def _group(
    matching: Correspondence, path: Path, kind: GroupKind, sources: Sequence[int], executed: Sequence[int]
) -> SourceGroup:
    original = matching.original
    return SourceGroup(
        kind=kind,
        path=path,
        sources=tuple(original.labels[index] for index in sources),
        source_ops=tuple(original.nodes[index].op_type for index in sources),
        executed=tuple(matching.labels[position] for position in executed),
        executed_ops=tuple(matching.nodes[position].op_type for position in executed),
    )


def _gone(original: Original, covered: set[int], path: Path) -> Iterator[SourceGroup]:
    """Original nodes that are not executed, and why."""
    kept: dict[int, int] = {}
    for index in sorted(covered):
        kept.update((original.values[tensor], index) for tensor in original.nodes[index].outputs if tensor)
    for index, node in enumerate(original.nodes):
        if index in covered:
            continue
        outputs = [tensor for tensor in node.outputs if tensor]
        twin = kept.get(original.values[outputs[0]]) if outputs and not passes(node) else None
        kind: GroupKind = "removed" if twin is None else "duplicate"
        if outputs and not passes(node) and all(tensor in original.constants for tensor in outputs):
            kind, twin = "folded", None
        same_as = "" if twin is None else original.labels[twin]
        yield _lone(kind, path, original.labels[index], node, same_as)


def _lone(kind: GroupKind, path: Path, label: str, node: GraphNode, same_as: str = "") -> SourceGroup:
    return SourceGroup(kind=kind, path=path, sources=(label,), source_ops=(node.op_type,), same_as=same_as)


# ---------------------------------------------------------------- slices


def _slice(matching: Correspondence, key: int) -> list[int]:
    """The original nodes of a group: back from its outputs to tensors that others make."""
    original = matching.original
    stack = list(matching.roots[key])
    seen = set(stack)
    skipped = _dropped_inputs(matching, key)
    constants: set[int] = set()
    read: set[str] = set()
    while stack:
        index = stack.pop()
        for tensor in original.nodes[index].inputs:
            read.add(tensor)
            if (index, tensor) in skipped:
                continue
            made = _real_maker(original, tensor)
            if made is None or made in seen or matching.owner.get(original.value(tensor), key) != key:
                continue
            if tensor in original.constants:
                constants.add(made)
            else:
                seen.add(made)
                stack.append(made)
    # Where the kernel reads a constant as it was before this node, the kernel does the node's work (dequantising).
    inputs = {tensor for position in matching.members[key] for tensor in matching.nodes[position].inputs} - read
    seen |= {
        index for index in constants if original.nodes[index].inputs[:1] and original.nodes[index].inputs[0] in inputs
    }
    return sorted(seen)


def _real_maker(original: Original, tensor: str) -> int | None:
    for _ in original.nodes:
        index = original.maker.get(tensor)
        if index is None or not passes(original.nodes[index]):
            return index
        tensor = original.nodes[index].inputs[0]
    return None


def _dropped_inputs(matching: Correspondence, key: int) -> set[tuple[int, str]]:
    """Inputs of a node that now reads what came before some nodes that changed nothing: those are not its own."""
    roots, members = matching.roots[key], matching.members[key]
    if (
        len(roots) != 1
        or len(members) != 1
        or not is_same(matching.nodes[members[0]], matching.original.nodes[roots[0]])
    ):
        return set()
    original, dropped = matching.original, set()
    for mine, theirs in zip(matching.nodes[members[0]].inputs, original.nodes[roots[0]].inputs, strict=True):
        wanted, tensor = original.value(matching.stands_for.get(mine, mine)), theirs
        for _ in original.nodes:
            maker = original.made_by(tensor)
            if original.value(tensor) == wanted or maker is None or maker.op_type not in MAY_DO_NOTHING:
                break
            if not maker.inputs or any(each not in original.constants for each in maker.inputs[1:] if each):
                break
            tensor = maker.inputs[0]
        if wanted != -1 and original.value(tensor) == wanted:
            dropped.add((roots[0], theirs))
    return dropped


# ---------------------------------------------------------------- bodies


def _bodies(
    matching: Correspondence, members: Mapping[int, Sequence[int]], covered: set[int], path: Path, inner: Outer
) -> Iterator[SourceGroup]:
    original, found = matching.original, set()
    for position, node in enumerate(matching.nodes):
        if not node.subgraphs:
            continue
        inside = (*path, matching.labels[position])
        anchors = matching.anchors.get(position, ())
        index = next((each for each in anchors if original.nodes[each].subgraphs), None)
        theirs = dict(original.nodes[index].subgraphs) if index is not None else {}
        key = matching.group.get(position)
        container = _group(matching, path, "fused", () if key is None else members[key], ())
        for name, body in node.subgraphs:
            if name in theirs:
                found.add((index, name))
                yield from _attribute(theirs[name], body, inside, inner)
            else:
                yield from _foreign(body, inside, container)
    for index, node in enumerate(original.nodes):
        for name, body in node.subgraphs:
            if (index, name) not in found:
                inside = (*path, original.labels[index])
                yield from _all_gone(body, inside, "unattributed" if index in covered else "removed")


def _foreign(body: Graph, path: Path, container: SourceGroup) -> Iterator[SourceGroup]:
    """A body that the original lacks is attributed to the original of its node."""
    labels = labels_of(body.nodes, NAMELESS)
    if labels:
        kind: GroupKind = "fused" if container.sources else "unattributed"
        operators = tuple(node.op_type for node in body.nodes)
        yield replace(container, kind=kind, path=path, executed=tuple(labels), executed_ops=operators)
    for label, node in zip(labels, body.nodes, strict=True):
        for _, nested in node.subgraphs:
            yield from _foreign(nested, (*path, label), container)


def _all_gone(body: Graph, path: Path, kind: GroupKind) -> Iterator[SourceGroup]:
    for label, node in zip(labels_of(body.nodes), body.nodes, strict=True):
        yield _lone(kind, path, label, node)
        for _, nested in node.subgraphs:
            yield from _all_gone(nested, (*path, label), kind)


def _with_taken_branches(source: Graph, executed: Graph, path: Path) -> tuple[Graph, list[SourceGroup]]:
    """Put the branch in the place of every If with a constant condition, as onnxruntime does; and what that leaves."""
    if all(node.op_type != "If" for node in source.nodes):
        return source, []
    makers = {tensor: node for node in executed.nodes for tensor in node.outputs}
    flat = _Flat([], set(source.constants), [])
    for label, node in zip(labels_of(source.nodes), source.nodes, strict=True):
        _flatten(node, label, path, makers, "", flat)
    return replace(source, nodes=tuple(flat.nodes), constants=frozenset(flat.constants)), flat.left_behind


class _Flat(NamedTuple):
    """A graph in the making."""

    nodes: list[GraphNode]
    constants: set[str]
    left_behind: list[SourceGroup]


def _flatten(
    node: GraphNode, label: str, path: Path, makers: Mapping[str, GraphNode], prefix: str, flat: _Flat
) -> None:
    maker = next((makers[tensor] for tensor in node.outputs if tensor in makers), None)
    taken = _taken_branch(maker, prefix) if node.op_type == "If" and maker is not None else None
    branch = dict(node.subgraphs).get(taken[1]) if taken else None
    if taken is None or branch is None:
        flat.nodes.append(replace(node, name=label))
        return
    prefix = taken.string[: taken.end()]
    own = chain(branch.constants, chain.from_iterable(each.outputs for each in branch.nodes))
    names = {tensor: prefix + tensor for tensor in own if tensor}
    names.update(zip(branch.outputs, node.outputs, strict=False))
    flat.constants.update(names[tensor] for tensor in branch.constants)
    flat.left_behind.append(_lone("removed", path, label, node))
    for inner, each in zip(labels_of(branch.nodes), branch.nodes, strict=True):
        _flatten(_renamed(each, names), inner, path, makers, prefix, flat)
    for name, body in node.subgraphs:
        if name != taken[1]:
            flat.left_behind.extend(_all_gone(body, (*path, label), "removed"))


def _taken_branch(maker: GraphNode, prefix: str) -> re.Match[str] | None:
    if maker.op_type == "If":
        return None
    names = (name for name in (maker.name, *maker.inputs) if name.startswith(prefix))
    return next((found for name in names if (found := _BRANCH.match(name, len(prefix)))), None)


def _renamed(node: GraphNode, names: Mapping[str, str]) -> GraphNode:
    return replace(
        node,
        inputs=tuple(names.get(tensor, tensor) for tensor in node.inputs),
        outputs=tuple(names.get(tensor, tensor) for tensor in node.outputs),
    )


# ---------------------------------------------------------------- times


def source_times(groups: Sequence[SourceGroup], nodes: Sequence[NodeTime]) -> tuple[SourceTime, ...]:
    """The time of every group, the most costly first; nodes outside all groups form separate groups."""
    groups = list(groups)
    owned: dict[int, list[NodeTime]] = defaultdict(list)
    for place, node in zip(places_of(groups, nodes), nodes, strict=True):
        if place is None:
            owned[len(groups)].append(node)
            groups.append(
                SourceGroup(kind="unattributed", path=node.path, executed=(node.name,), executed_ops=(node.op_name,))
            )
        else:
            owned[place[0]].append(node)
            groups[place[0]] = _called(groups[place[0]], place[1], node.name)
    iterations = max((len(node.self_us) for node in nodes), default=0)
    times = [_time(group, owned[index], iterations) for index, group in enumerate(groups)]
    return tuple(sorted(times, key=lambda time: (not time.calls, -sum(time.self_us))))


def _time(group: SourceGroup, nodes: Sequence[NodeTime], iterations: int) -> SourceTime:
    return SourceTime(
        group=group,
        calls=sum(node.calls for node in nodes),
        self_us=added([(0,) * iterations, *(node.self_us for node in nodes)]),
        usual_us=sum_of(nodes),
    )


def _called(group: SourceGroup, place: int, name: str) -> SourceGroup:
    if group.executed[place] == name:
        return group
    return replace(group, executed=(*group.executed[:place], name, *group.executed[place + 1 :]))


def places_of(groups: Sequence[SourceGroup], nodes: Sequence[NodeTime]) -> list[_Place | None]:
    """For every node of the trace: its group, and its place in there."""
    named: dict[tuple[Path, str], list[_Place]] = defaultdict(list)
    nameless: dict[tuple[Path, str], list[_Place]] = defaultdict(list)
    for index, group in enumerate(groups):
        for place, (name, op_type) in enumerate(zip(group.executed, group.executed_ops, strict=True)):
            named[group.path, name].append((index, place))
            if re.fullmatch(rf"{re.escape(op_type)}{NAMELESS}[0-9]{{1,9}}", name):
                nameless[group.path, op_type].append((index, place))
    for places in nameless.values():
        places.sort(key=lambda each: int(groups[each[0]].executed[each[1]].rpartition(NAMELESS)[2]))
    found: list[_Place | None] = []
    for node in nodes:
        same = named.get((node.path, node.name), [])
        # Names may occur twice: then each is used once, the one with the right operator first.
        same.sort(key=lambda each: groups[each[0]].executed_ops[each[1]] != node.op_name)
        if not same and re.fullmatch(rf"{re.escape(node.op_name)}_\d+", node.name):
            # The trace numbers these in its own way, but both list them in the order of execution.
            same = nameless.get((node.path, node.op_name), [])
            found.append(same.pop(0) if same else None)
        else:
            found.append(same[0] if len(same) == 1 else same.pop(0) if same else None)
    return found


def split_estimate(group: SourceGroup, weights: Mapping[str, float]) -> dict[str, float]:
    """Estimated share of each original node in its group's time: by weight, or equal parts if that is unknown."""
    if not group.sources:
        return {}
    known = {name: weights[name] for name in group.sources if _is_weight(weights.get(name))}
    equal = 1 / len(group.sources)
    heaviest = max(known.values(), default=0.0)
    if not heaviest:
        known = {}
    # Scaled first, so that huge weights cannot overflow.
    scaled = {name: weight / heaviest for name, weight in known.items()}
    total = math.fsum(scaled[name] for name in group.sources if name in scaled)
    rest = sum(name in scaled for name in group.sources) * equal
    shares: dict[str, float] = defaultdict(float)
    for name in group.sources:
        shares[name] += rest * scaled[name] / total if name in scaled else equal
    return dict(shares)


def _is_weight(weight: float | None) -> bool:
    return weight is not None and math.isfinite(weight) and weight >= 0
