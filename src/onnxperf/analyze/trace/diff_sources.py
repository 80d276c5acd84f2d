"""How the time of original nodes changed between two profiles of one model, whatever each side made of them."""

from __future__ import annotations

from collections import defaultdict

from onnxperf.records.diff import Diff, SourceChange
from onnxperf.records.profile import Profile, SourceTime, sum_of

Place = tuple[tuple[str, ...], str]
"""Nodes whose bodies an original node is in, and its name."""


def by_source(diff: Diff) -> list[SourceChange]:
    """Groups of original nodes that have a time on either side, the largest change first; none of different models."""
    before, after = diff.before, diff.after
    if not before.sources or not after.sources or before.fingerprint != after.fingerprint:
        return []
    owners = _joined([*before.sources, *after.sources])
    sides = [_by_owner(profile, owners) for profile in (before, after)]
    found = []
    for owner in dict.fromkeys([*sides[1], *sides[0]]):
        groups = [side.get(owner, []) for side in sides]
        first = next(each for side in reversed(groups) for each in side)
        names = max((each.group.sources for side in groups for each in side), key=len)
        times = list(map(sum_of, groups))
        found.append(
            SourceChange(
                names=names or first.group.executed, link=first.group.link, before_us=times[0], after_us=times[1]
            )
        )
    return sorted(found, key=lambda each: -abs(each.change_us))


def _joined(sources: list[SourceTime]) -> dict[Place, Place]:
    """For each original node one of those that it shares a group with, on either side."""
    owners: dict[Place, Place] = {}

    def owner(place: Place) -> Place:
        while owners.setdefault(place, place) != place:
            owners[place] = owners[owners[place]]
            place = owners[place]
        return place

    for source in sources:
        places = [(source.group.path, name) for name in source.group.sources]
        for place in places:
            owners[owner(place)] = owner(places[0])
    return {place: owner(place) for place in list(owners)}


def _by_owner(profile: Profile, owners: dict[Place, Place]) -> dict[Place, list[SourceTime]]:
    """Groups with a time by their original nodes; what has none, as reorders, by the operator that was added."""
    found: dict[Place, list[SourceTime]] = defaultdict(list)
    for source in profile.sources:
        group = source.group
        if any(source.self_us):
            place = (group.path, group.sources[0]) if group.sources else (("",), ", ".join(group.executed_ops))
            found[owners.get(place, place)].append(source)
    return found
