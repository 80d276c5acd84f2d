"""Changes in the time of original nodes between two profiles, however each side executes them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import places_of
from onnxperf.analyze.judges.node_times import TimedPair, added_launches, compare_times, launch_sums
from onnxperf.records.diff import Diff, SourceChange
from onnxperf.records.profile import NodeTime, Profile, SourceGroup, link, sum_of
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.nodes import became_text
from onnxperf.wording.numbers import count

Place = tuple[tuple[str, ...], str]
"""Nodes whose bodies contain an original node, and its name."""
_REST: Place = ((), "")
"""Placeholder for nodes added by onnxruntime and for unattributed nodes."""
_OPERATORS = 3
"""Number of their operators that are listed."""


class _Owned(NamedTuple):
    """An executed node and the original nodes whose work it does."""

    node: NodeTime
    places: tuple[Place, ...]


def by_source(diff: Diff) -> list[SourceChange]:
    """Groups of original nodes, largest change first; then nodes that belong to none. Empty if no model is known.

    Nodes executed together on either side form one group. Every executed node is in one group, so the times of a side
    add up to its sum of nodes.
    """
    if not knows_sources(diff):
        return []
    sides = (_owned(diff.before), _owned(diff.after, _translation(diff)))
    owners = _joined(chain(*sides))
    found: dict[Place, tuple[list[_Owned], list[_Owned]]] = defaultdict(lambda: ([], []))
    for number, side in enumerate(sides):
        for each in side:
            found[owners[each.places[0]] if each.places else _REST][number].append(each)
    facts = _Facts(diff)
    changes = [facts.change(owner, *groups) for owner, groups in found.items()]
    ranked = sorted(changes, key=lambda each: (not each.names, -abs(each.change_us)))
    return _judged(ranked)


def knows_sources(diff: Diff) -> bool:
    """Whether both sides execute one model, or two models whose nodes are matched."""
    before, after = diff.before, diff.after
    one_model = bool(before.fingerprint) and before.fingerprint == after.fingerprint
    return bool(before.sources and after.sources) and (one_model or bool(diff.groups))


def shown_sources(changes: Sequence[SourceChange], min_share: float) -> list[SourceChange]:
    """The changes, with those below a share of the total time summed up in one row; never the largest change."""
    floor = min_share * math.fsum(each.both_us for each in changes)
    named = changed_most(changes)
    small = [each for each in changes if each.names and each.both_us < floor and each is not named]
    if len(small) < 2:
        return list(changes)
    folded = set(map(id, small))
    kept = [each for each in changes if id(each) not in folded]
    others = SourceChange(
        label=count(len(small), "other"),
        others=len(small),
        before_us=math.fsum(each.before_us for each in small),
        after_us=math.fsum(each.after_us for each in small),
        before_launch_us=added_launches(each.before_launch_us for each in small),
        after_launch_us=added_launches(each.after_launch_us for each in small),
    )
    (judged,) = _judged([others], len(changes))
    at = next((place for place, each in enumerate(kept) if not each.names), len(kept))
    return [*kept[:at], judged, *kept[at:]]


def changed_most(changes: Iterable[SourceChange]) -> SourceChange | None:
    """The original nodes with the largest proven change."""
    proven = [each for each in changes if each.names and each.verdict in ("faster", "slower")]
    return max(proven, key=lambda each: abs(each.change_us), default=None)


# ---------------------------------------------------------------- whose work a node does


def _owned(profile: Profile, translation: dict[Place, tuple[Place, ...]] | None = None) -> list[_Owned]:
    groups = [source.group for source in profile.sources]
    found = []
    for node, place in zip(profile.nodes, places_of(groups, profile.nodes), strict=True):
        own = () if place is None else _places(groups[place[0]], groups[place[0]].sources)
        if translation is not None:
            own = tuple(dict.fromkeys(chain(*(translation.get(each, ()) for each in own))))
        found.append(_Owned(node, own))
    return found


def _places(group: SourceGroup, names: Iterable[str]) -> tuple[Place, ...]:
    return tuple((group.path, name) for name in names)


def _translation(diff: Diff) -> dict[Place, tuple[Place, ...]] | None:
    """Nodes of the second model -> nodes of the first; None for a single model."""
    if not diff.groups:
        return None
    return {place: _places(each, each.sources) for each in diff.groups for place in _places(each, each.executed)}


def _joined(nodes: Iterable[_Owned]) -> dict[Place, Place]:
    """Union-find: for each original node, a representative of the nodes executed together with it on either side."""
    owners: dict[Place, Place] = {}

    def owner(place: Place) -> Place:
        while owners.setdefault(place, place) != place:
            owners[place] = owners[owners[place]]
            place = owners[place]
        return place

    for node in nodes:
        for place in node.places:
            owners[owner(place)] = owner(node.places[0])
    return {place: owner(place) for place in list(owners)}


# ---------------------------------------------------------------- groups


class _Facts:
    """Facts about the original nodes of a diff."""

    def __init__(self, diff: Diff) -> None:
        self.diff = diff
        own = [source.group for source in diff.before.sources]
        groups = [*own, *diff.groups, *([] if diff.groups else [source.group for source in diff.after.sources])]
        self.operators = {
            place: op
            for group in groups
            for place, op in zip(_places(group, group.sources), group.source_ops, strict=False)
        }
        timeless = [group for group in groups if not group.executed]
        self.fates = {place: group.kind for group in timeless for place in _places(group, group.sources)}

    def change(self, owner: Place, before: Sequence[_Owned], after: Sequence[_Owned]) -> SourceChange:
        """The times of a group on both sides."""
        most = max((*before, *after), key=lambda each: len(each.places)).places
        places = list(dict.fromkeys(chain(most, *(each.places for each in (*before, *after)))))
        sides = [[each.node for each in side] for side in (before, after)]
        executed = [tuple(node.name for node in side) for side in sides]
        names = tuple(name for _, name in places)
        ops = tuple(self.operators.get(place, "") for place in places)
        fate = next((self.fates[place] for place in places if place in self.fates), "removed")
        first = next(node for side in reversed(sides) for node in side)
        label = became_text(names, ops, executed[0], executed[1], fate) if names else self._rest(sides)
        return SourceChange(
            label=" > ".join((*map(name_of, owner[0]), label)),
            names=names,
            ops=ops,
            path=owner[0],
            before_executed=executed[0],
            after_executed=executed[1],
            link=link(first.path, first.name),
            before_us=sum_of(sides[0]),
            after_us=sum_of(sides[1]),
            before_launch_us=launch_sums(self.diff.before, sides[0]),
            after_launch_us=launch_sums(self.diff.after, sides[1]),
        )

    def _rest(self, sides: Sequence[Sequence[NodeTime]]) -> str:
        """Label of unattributed nodes, mostly added by onnxruntime: reorders, casts, copies."""
        numbers = [Counter(node.op_name for node in side) for side in sides]
        operators = [op for op, _ in (numbers[0] | numbers[1]).most_common()]
        where = "the first model" if self.diff.groups else "the model"
        return f"not in {where} ({first_of(list(map(name_of, operators)), _OPERATORS)})"


def _judged(changes: Sequence[SourceChange], other_tests: int = 0) -> list[SourceChange]:
    """Judge, over launches, the changes executed on both sides."""
    both = [place for place, each in enumerate(changes) if each.on_both]
    pairs = [
        TimedPair(each.before_launch_us, each.after_launch_us, (each.before_us, each.after_us))
        for each in (changes[place] for place in both)
    ]
    found = dict(zip(both, compare_times(pairs, other_tests), strict=True))
    return [
        replace(each, **found[place].named("speedup"), verdict=found[place].verdict) if place in found else each
        for place, each in enumerate(changes)
    ]
