"""Which nodes of the original model are still executed, and what part of the time they take."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from onnxperf.records.graph import Graph
from onnxperf.records.profile import NodeTime, Profile, sum_of


def share_of(profile: Profile, nodes: Collection[NodeTime]) -> float | None:
    """Part of the time in all nodes that some of them take; None if the trace shows no time."""
    everything = profile.usual_nodes_us
    return min(1.0, sum_of(nodes) / everything) if everything and nodes else None


def executed_where(profile: Profile, wanted: Callable[[NodeTime], bool]) -> list[NodeTime]:
    """Executed nodes of some kind."""
    return [node for node in profile.nodes if wanted(node)]


def executed_as_written(profile: Profile, graph: Graph) -> dict[str, NodeTime]:
    """Original nodes of the main graph that are executed by a node of the same operator, by their names."""
    operators = {node.name: node.op_type for node in graph.nodes}
    found: dict[str, NodeTime] = {}
    for executed in profile.nodes:
        for name in executed.sources:
            if not executed.path and operators.get(name) == executed.op_name:
                found[name] = executed
    return found


def doing(profile: Profile, names: Iterable[str]) -> list[NodeTime]:
    """Executed nodes that do the work of some original nodes, and of no others."""
    wanted = set(names)
    return [node for node in profile.nodes if node.sources and wanted.issuperset(node.sources)]


def touching(profile: Profile, names: Iterable[str]) -> list[NodeTime]:
    """Executed nodes that do the work of some original nodes, alone or fused with others."""
    wanted = set(names)
    return [node for node in profile.nodes if not wanted.isdisjoint(node.sources)]


def names_of(nodes: Sequence[NodeTime], most: int = 20) -> tuple[str, ...]:
    """Their names; if there are many, the most costly ones."""
    costly = sorted(nodes, key=lambda node: -node.usual_us)[:most]
    kept = {id(node) for node in costly}
    return tuple(node.name for node in nodes if id(node) in kept)
