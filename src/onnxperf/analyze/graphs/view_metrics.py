"""What a profile measured, put on the nodes of the original graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.answers.headroom import headroom_answer
from onnxperf.analyze.answers.profile import overhead_words
from onnxperf.errors import BadOption
from onnxperf.records.graph import Path, Place
from onnxperf.records.headroom import Limit
from onnxperf.records.node_memory import NodeMemory
from onnxperf.records.profile import (
    DOMINATING_OVERHEAD,
    NodeTime,
    Profile,
    SourceTime,
    link,
)
from onnxperf.records.view import GraphView, Metrics, NodeMetric, ViewGraph, ViewNode
from onnxperf.wording.busy import is_busy_text
from onnxperf.wording.numbers import count, magnitude, percent, significant, spoken_size, time_text

_WHY = {
    "folded": "computed once, when the model is loaded",
    "duplicate": "the same as another node, which was kept",
    "removed": "had no effect: removed",
}


def time_metrics(profile: Profile, view: GraphView) -> Metrics:
    """Time of every node of a view; nodes that are executed as one share the time of their group."""
    total = profile.usual_nodes_us
    places = _places(profile, view)
    rows = _of_sources(profile.sources, places) if profile.sources else _of_names(profile.nodes, places)
    nodes: dict[str, NodeMetric] = {}
    for key, value, lines in rows:
        before = nodes[key].value if key in nodes else 0.0
        whole = before + value
        share = whole / total if total else 0.0
        kept = nodes[key].lines if key in nodes else ()
        nodes[key] = NodeMetric(key=key, share=share, value=whole, unit="us", lines=(*kept, *lines))
    notes = (*_general_notes(profile, view), *_notes(profile, nodes, total))
    return Metrics(by="time", title=_title(profile, total), nodes=nodes, notes=notes)


def _of_sources(sources: tuple[SourceTime, ...], places: _Places) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    for each in sources:
        for name in each.group.sources:
            key = places.key_of(each.group.path, name)
            if key is not None:
                yield key, each.usual_us, tuple(_source_lines(each, name))


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


def folded_keys(metrics: Metrics | None) -> frozenset[str]:
    """Nodes that are computed once, when the model is loaded: they have no time, and a page does not draw them."""
    known = {} if metrics is None else metrics.nodes
    return frozenset(key for key, node in known.items() if node.lines == (_WHY["folded"],) and not node.value)


def _of_names(nodes: tuple[NodeTime, ...], places: _Places) -> Iterator[tuple[str, float, tuple[str, ...]]]:
    for each in nodes:
        key = places.key_of(each.path, each.name)
        if key is not None:
            yield key, each.usual_us, (f"{time_text(each.usual_us * 1000)} per inference",)


def _title(profile: Profile, total_us: float) -> str:
    profiled = " with the profiler" if (profile.overhead or 0.0) >= DOMINATING_OVERHEAD else ""
    whole = f"{time_text(total_us * 1000)} per inference{profiled} ({profile.model})"
    return f"nodes, with their share of {whole}; fused nodes share one time"


def headroom_metrics(profile: Profile, view: GraphView) -> Metrics:
    """What every node of a view could win at best, against the time in all nodes."""
    headroom = profile.headroom
    if headroom is None:
        raise BadOption("this profile has no limits; profile the model with `roofline`")
    total = headroom.whole.time_us
    places = _places(profile, view)
    nodes: dict[str, NodeMetric] = {}
    for source, limit in zip(profile.sources, headroom.sources, strict=True):
        for name in source.group.sources:
            key = places.key_of(source.group.path, name)
            if key is not None and source.group.kind not in _WHY:
                share = limit.could_win_us / total if total else 0.0
                lines = tuple(_headroom_lines(limit))
                nodes[key] = NodeMetric(key=key, share=share, value=limit.could_win_us, unit="us", lines=lines)
    whole = f"{time_text(total * 1000)} per inference ({profile.model})"
    title = f"nodes, with what they could win at best of {whole}; fused nodes share one figure"
    added = sum(
        limit.could_win_us
        for source, limit in zip(profile.sources, headroom.sources, strict=True)
        if not source.group.sources
    )
    notes = (
        [f"nodes that onnxruntime added could win {percent(added / total)}"] if total and added >= 0.005 * total else []
    )
    general = (headroom_answer(profile), *_general_notes(profile, view))
    return Metrics(by="headroom", title=title, nodes=nodes, notes=(*filter(None, general), *notes))


def _headroom_lines(limit: Limit) -> Iterator[str]:
    if not limit.is_judged:
        why = "its limit is not known" if limit.bound == "unknown" else "not judged, as its time is disturbed"
        yield f"{time_text(limit.time_us * 1000)} per inference; {why}"
        return
    yield f"could win {time_text(limit.could_win_us * 1000)} of {time_text(limit.time_us * 1000)} at best"
    if limit.ratio is None:
        yield "moves and computes nothing"
        return
    what = {"compute": "arithmetic", "memory": "moving bytes"}.get(limit.bound, "its limit")
    yield "at its limit" if limit.ratio <= 1 else f"{significant(limit.ratio)} times what {what} takes at best"
    if limit.counted and limit.flop:
        yield f"{magnitude(limit.flop)}FLOP"
    yield f"{spoken_size(limit.moved_bytes)} read and written"


def _general_notes(profile: Profile, view: GraphView) -> Iterator[str]:
    if profile.fingerprint and view.fingerprint and profile.fingerprint != view.fingerprint:
        yield f"the profile is of another model, or another version of it, {profile.model}: nodes are matched by name"
    if words := overhead_words(profile.overhead):
        yield words.strip()
    yield from filter(is_busy_text, profile.notes)
    if profile.interrupted:
        yield "interrupted: the profile holds what ran until then"


def _notes(profile: Profile, nodes: dict[str, NodeMetric], total_us: float) -> Iterator[str]:
    if profile.sources:
        inserted = sum(each.usual_us for each in profile.sources if not each.group.sources)
        if total_us and inserted / total_us >= 0.005:
            yield f"{percent(inserted / total_us)} of the time is in nodes that onnxruntime added"
    else:
        missing = sum(node.usual_us for node in profile.nodes) - sum(each.value for each in nodes.values())
        if total_us and missing / total_us >= 0.005:
            yield (
                f"{percent(missing / total_us)} of the time is in nodes whose names are not in this model, "
                "or repeated; `profile` without a file shows where they come from"
            )


def with_lines_of(metrics: Metrics, other: Metrics) -> Metrics:
    """The same metrics, with the lines of others about their nodes too."""
    nodes = {
        key: replace(node, lines=(*node.lines, *other.nodes[key].lines)) if key in other.nodes else node
        for key, node in metrics.nodes.items()
    }
    return replace(metrics, nodes=nodes)


def links_of(profile: Profile, view: GraphView) -> dict[str, tuple[str, ...]]:
    """For the nodes of a view what they share with rows and marks of a profile, then the operators and modules that
    they are executed in."""
    places, groups = _places(profile, view), profile.link_groups
    named = [(each.group.path, name, each.group.link) for each in profile.sources for name in each.group.sources]
    if not profile.sources:
        named = [(node.path, node.name, link(node.path, node.name)) for node in profile.nodes]
    found = ((places.key_of(path, name), shared) for path, name, shared in named)
    return {key: (shared, *groups.get(shared, ())) for key, shared in found if key is not None}


# ---------------------------------------------------------------- memory


def memory_metrics(memories: Sequence[NodeMemory], profile: Profile, view: GraphView) -> Metrics:
    """Size of the results of every node of a view, relative to the peak in use."""
    peak = max((each.in_use_bytes or each.live_bytes or 0 for each in memories), default=0)
    places = _places(profile, view)
    owners = {(each.group.path, name): each.group.sources for each in profile.sources for name in each.group.executed}
    made: dict[str, int] = defaultdict(int)
    lines: dict[str, tuple[str, ...]] = defaultdict(tuple)
    for each in _largest(memories):
        for source in owners.get((each.path, each.name), (each.name,)):
            key = places.key_of(each.path, source)
            if key is not None and each.output_bytes is not None:
                made[key] += each.output_bytes
                lines[key] += tuple(_memory_lines(each))
    nodes = {
        key: NodeMetric(
            key=key, share=min(size / peak, 1.0) if peak else 0.0, value=size, unit="bytes", lines=lines[key]
        )
        for key, size in made.items()
    }
    title = (
        f"nodes, with the size of their results against the {count(peak, 'byte')} in use at the peak ({profile.model})"
    )
    missing = () if nodes else ("the trace has no memory of these nodes",)
    return Metrics(by="memory", title=title, nodes=nodes, notes=(*_general_notes(profile, view), *missing))


def _largest(memories: Sequence[NodeMemory]) -> list[NodeMemory]:
    """Of every executed node the execution with the largest results: a body may run thousands of times."""
    found: dict[Place, NodeMemory] = {}
    for each in memories:
        before = found.setdefault((each.path, each.name), each)
        if _sizes(each) > _sizes(before):
            found[each.path, each.name] = each
    return list(found.values())


def _sizes(each: NodeMemory) -> tuple[int, int]:
    return each.output_bytes or 0, each.in_use_bytes or 0


def _memory_lines(each: NodeMemory) -> Iterator[str]:
    yield f"results: {count(each.output_bytes or 0, 'byte')}"
    if each.in_use_bytes is not None:
        yield f"in use when it ended: {count(each.in_use_bytes, 'byte')}{' (the peak)' if each.is_peak else ''}"
    if each.live_bytes is not None:
        yield f"needed while it runs: {count(each.live_bytes, 'byte')}"


# ---------------------------------------------------------------- places


class _Places(NamedTuple):
    """Places of the nodes of a view; ambiguous ones are left out."""

    keys: dict[Place, str]
    """Keys of nodes by their places."""
    unique: dict[str, str]
    """Keys of nodes by their names alone: onnxruntime moves nodes out of bodies and renames the nodes around them."""

    def key_of(self, path: Path, name: str) -> str | None:
        """Key of the node that a profile means."""
        return self.keys.get((path, name)) or self.unique.get(name)


def _places(profile: Profile, view: GraphView) -> _Places:
    """The nodes by label, which is what a profiled model calls them; a trace alone has the names of the file."""
    found = list(_placed(view.graph, (), _label if profile.sources else _name))
    places, names = Counter(place for place, _ in found), Counter(place[1] for place, _ in found)
    return _Places(
        {place: key for place, key in found if places[place] == 1},
        {place[1]: key for place, key in found if names[place[1]] == 1},
    )


def _label(node: ViewNode) -> str:
    return node.label


def _name(node: ViewNode) -> str:
    return node.name or node.label


def _placed(graph: ViewGraph, path: Path, called: Callable[[ViewNode], str]) -> Iterator[tuple[Place, str]]:
    for node in graph.nodes:
        yield (path, called(node)), node.key
        for body in node.subgraphs.values():
            yield from _placed(body, (*path, called(node)), called)
