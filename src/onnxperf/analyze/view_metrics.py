"""What a profile measured, put on the nodes of the original graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from onnxperf.analyze.advice import time_text
from onnxperf.records import NodeTime, Profile, SourceTime
from onnxperf.records.node_memory import NodeMemory
from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph, ViewNode

_WHY = {
    "folded": "computed once, when the model is loaded",
    "duplicate": "the same as another node, which was kept",
    "removed": "had no effect: removed",
}


def time_metrics(profile: Profile, view: GraphView) -> Metrics:
    """Time of every node of a view; nodes that are executed as one share the time of their group."""
    total = sum(node.usual_us for node in profile.nodes)
    keys = {node.label: node.key for node in _nodes(view.graph)}
    rows = _of_sources(profile.sources, keys) if profile.sources else _of_names(profile.nodes, keys)
    nodes: dict[str, NodeMetric] = {}
    for key, value, lines in rows:
        before = nodes[key].value if key in nodes else 0.0
        whole = before + value
        share = whole / total if total else 0.0
        kept = nodes[key].lines if key in nodes else ()
        nodes[key] = NodeMetric(key=key, share=share, value=whole, unit="us", lines=(*kept, *lines))
    return Metrics(by="time", title=_title(profile, total), nodes=nodes, notes=tuple(_notes(profile, nodes, total)))


def _of_sources(sources: tuple[SourceTime, ...], keys: dict[str, str]) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    for each in sources:
        for name in each.group.sources:
            if name in keys:
                yield keys[name], each.usual_us, tuple(_source_lines(each, name))


def _source_lines(each: SourceTime, name: str) -> Iterator[str]:
    group = each.group
    if group.kind in _WHY:
        yield _WHY[group.kind]
        return
    yield f"{time_text(each.usual_us * 1000)} per inference"
    others = [other for other in group.sources if other != name]
    if others:
        more = f" and {len(others) - 4} more" if len(others) > 4 else ""
        yield f"executed as {', '.join(group.executed_ops)} together with {', '.join(others[:4])}{more}"
    elif group.kind == "fused":
        yield f"executed as {', '.join(group.executed_ops)}"


def _of_names(nodes: tuple[NodeTime, ...], keys: dict[str, str]) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    for each in nodes:
        if each.name in keys:
            yield keys[each.name], each.usual_us, (f"{time_text(each.usual_us * 1000)} per inference",)


def _title(profile: Profile, total_us: float) -> str:
    whole = f"{time_text(total_us * 1000)} per inference ({profile.model})"
    return f"nodes, with their share of {whole}; fused nodes share one time"


def _notes(profile: Profile, nodes: dict[str, NodeMetric], total_us: float) -> Iterator[str]:
    if profile.sources:
        inserted = sum(each.usual_us for each in profile.sources if not each.group.sources)
        if total_us and inserted / total_us >= 0.005:
            yield f"{100 * inserted / total_us:.1f} % of the time is in nodes that onnxruntime added"
    else:
        missing = sum(node.usual_us for node in profile.nodes) - sum(each.value for each in nodes.values())
        if total_us and missing / total_us >= 0.005:
            yield (
                f"{100 * missing / total_us:.1f} % of the time is in nodes whose names are not in this model; "
                "--profile without a file finds out where they come from"
            )


# ---------------------------------------------------------------- memory


def memory_metrics(memories: Sequence[NodeMemory], profile: Profile, view: GraphView) -> Metrics:
    """Size of the results of every node of a view, against the most that was in use at once."""
    keys = {node.label: node.key for node in _nodes(view.graph)}
    peak = max((each.in_use_bytes or each.live_bytes or 0 for each in memories), default=0)
    owners: dict[str, tuple[str, ...]] = {
        name: each.group.sources for each in profile.sources for name in each.group.executed
    }
    made: dict[str, int] = defaultdict(int)
    lines: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for each in memories:
        for source in owners.get(each.name, (each.name,)):
            if source in keys and each.output_bytes is not None:
                made[keys[source]] += each.output_bytes
                lines[keys[source]] += tuple(_memory_lines(each))
    nodes = {
        key: NodeMetric(
            key=key, share=min(size / peak, 1.0) if peak else 0.0, value=size, unit="bytes", lines=lines[key]
        )
        for key, size in made.items()
    }
    title = f"nodes, with the size of their results against the {peak:,} bytes in use at the peak ({profile.model})"
    notes = () if nodes else ("the trace does not tell the memory of these nodes",)
    return Metrics(by="memory", title=title, nodes=nodes, notes=notes)


def _memory_lines(each: NodeMemory) -> Iterator[str]:
    yield f"results: {each.output_bytes:,} bytes"
    if each.in_use_bytes is not None:
        yield f"in use when it ended: {each.in_use_bytes:,} bytes{' (the peak)' if each.is_peak else ''}"
    if each.live_bytes is not None:
        yield f"needed while it runs: {each.live_bytes:,} bytes"


def _nodes(graph: ViewGraph) -> Iterator[ViewNode]:
    for node in graph.nodes:
        yield node
        for body in node.subgraphs.values():
            yield from _nodes(body)
