"""Two models side by side as SVG: the nodes kept, fused, removed and added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from onnxperf.records.profile import GroupKind, SourceGroup
from onnxperf.records.view import GraphView, ViewGraph, ViewNode
from onnxperf.render.graph.boxes import LONGEST_TITLE, Paint, Painter, sheets_of
from onnxperf.render.graph.svg import document, swatches
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import count, grouped

_FUSED = (
    # Light colours that are far from each other, from red and from green.
    ("#cfe3fa", "#2f6fb5"),
    ("#fde9b8", "#b98900"),
    ("#e5d8f7", "#7b52b9"),
    ("#c9eef0", "#1f8f98"),
    ("#f3dfcf", "#9a6a3d"),
    ("#fbd9ee", "#b44a8c"),
    ("#dfe3ea", "#4b5a73"),
    ("#eef0c0", "#84871d"),
)
_LOOKS: dict[str, Paint] = {
    "kept": Paint("#f6f6f4", "#9ca3af"),
    "removed": Paint("#fbdcd8", "#c2452f", dashed=True),
    "folded": Paint("#fdece0", "#c2452f", dashed=True),
    "duplicate": Paint("#fbe3ea", "#c2452f", dashed=True),
    "added": Paint("#d8f0dc", "#2f8f4a"),
    "unattributed": Paint("#ffffff", "#6b7280", dashed=True),
}
_WORDS = {
    "kept": "kept",
    "removed": "removed",
    "folded": "folded: computed once, when the model is loaded",
    "duplicate": "the same as another node, which was kept",
    "added": "added",
    "unattributed": "its origin is not known",
}
_KINDS: dict[GroupKind, str] = {
    "kept": "kept",
    "fused": "fused",
    "inserted": "added",
    "folded": "folded",
    "duplicate": "duplicate",
    "removed": "removed",
    "unattributed": "unattributed",
}


class _Fate(NamedTuple):
    """What became of a node, or where it comes from."""

    kind: str
    number: int = 0
    """Of the group that it was fused in, from 1."""
    tips: tuple[str, ...] = ()


_Place = tuple[tuple[str, ...], str]
"""Labels of the nodes around a node, or in a function what identifies that, and its own label."""


def diff_svg(before: GraphView, after: GraphView, groups: Sequence[SourceGroup] = ()) -> str:
    """Both graphs; nodes that no group names are the same where name and operator are."""
    sides = [list(_nodes(view)) for view in (before, after)]
    shared = set.intersection(*({(place, node.op_type) for place, node in side} for side in sides))
    sheets, counts = [], [Counter[str](), Counter[str]()]
    named = _named(groups)
    for side, view in enumerate((before, after)):
        fates = {}
        for place, node in sides[side]:
            same = _Fate("kept") if (place, node.op_type) in shared else _Fate("added" if side else "removed")
            fates[node.key] = named[side].get(place, same)
        counts[side].update(fate.kind for fate in fates.values())
        main, *functions = sheets_of(view, _painter(fates))
        title = f"{('before', 'after')[side]}: {name_of(view.model)}, {count(len(fates), 'node')}"
        sheets += [main._replace(title=shortened(title, LONGEST_TITLE)), *functions]
    title = f"{name_of(before.model)} and {name_of(after.model)}"
    return document(title, _legend(counts, groups), sheets)


def _nodes(view: GraphView) -> Iterator[tuple[_Place, ViewNode]]:
    yield from _nodes_in(view.graph, ())
    for function in view.functions:
        yield from _nodes_in(function.graph, (function.domain, function.name, function.overload))


def _nodes_in(graph: ViewGraph, path: tuple[str, ...]) -> Iterator[tuple[_Place, ViewNode]]:
    for node in graph.nodes:
        yield (path, node.label), node
        for body in node.subgraphs.values():
            yield from _nodes_in(body, (*path, node.label))


def _named(groups: Sequence[SourceGroup]) -> tuple[dict[_Place, _Fate], dict[_Place, _Fate]]:
    """What the groups say about the nodes of each side."""
    before: dict[_Place, _Fate] = {}
    after: dict[_Place, _Fate] = {}
    number = 0
    for group in groups:
        number += group.kind == "fused"
        fate = _Fate(_KINDS[group.kind], number if group.kind == "fused" else 0, tuple(_tips(group)))
        before.update({(group.path, name): fate for name in group.sources})
        after.update({(group.path, name): fate for name in group.executed})
    return before, after


def _tips(group: SourceGroup) -> Iterator[str]:
    if group.kind == "fused":
        yield f"fused: {visible(', '.join(group.sources))} became {visible(', '.join(group.executed))}"
    elif group.kind != "kept":
        yield _WORDS[_KINDS[group.kind]]
    if group.same_as:
        yield f"the same as {visible(group.same_as)}"


def _painter(fates: Mapping[str, _Fate]) -> Painter:
    def paint(node: ViewNode) -> Paint:
        fate = fates[node.key]
        if fate.kind == "fused":
            fill, stroke = _FUSED[(fate.number - 1) % len(_FUSED)]
            return Paint(fill, stroke, badge=f"#{fate.number}", tips=fate.tips)
        return _LOOKS[fate.kind]._replace(tips=fate.tips)

    return paint


def _legend(counts: Sequence[Counter[str]], groups: Sequence[SourceGroup]) -> list[tuple[float, str]]:
    before, after = counts
    entries = []
    if before["fused"] or after["fused"]:
        fused = count(sum(group.kind == "fused" for group in groups), "group")
        words = f"{grouped(before['fused'])} fused into {grouped(after['fused'])}, {fused} by number and color"
        entries.append((*_FUSED[0], False, words))
    for kind, look in _LOOKS.items():
        number = max(before[kind], after[kind])
        if number:
            entries.append((look.fill, look.stroke, look.dashed, f"{grouped(number)} {_WORDS[kind]}"))
    return swatches(entries)
