"""Operations that are spelled out in a model and were not fused, with the node that prevented it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onnxperf.analyze.graphs.executed import doing, executed_as_written, names_of, share_of
from onnxperf.records.advice import Hazard, Trial
from onnxperf.records.graph import GraphNode
from onnxperf.records.inspection import Inspection, Pattern
from onnxperf.records.profile import NodeTime, Profile
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, share_percent

_NAME_LENGTH = 48
_REASONS = (
    ("extra", "{node} is in between"),
    ("spelling", "{node} is not what onnxruntime looks for"),
    ("shared", "the result of {node} is used elsewhere, too"),
)
"""Fields of a pattern, the most telling first, and what they mean."""


def unfused(profile: Profile, inspection: Inspection, kind: str) -> list[Pattern]:
    """Operations of a kind whose core is executed by itself."""
    executed = executed_as_written(profile, inspection.graph)
    return [each for each in inspection.patterns if each.kind == kind and each.core in executed]


def breaker(pattern: Pattern, nodes: Mapping[str, GraphNode]) -> str:
    """What prevents the fusion, as a clause; empty if unknown."""
    for field, reason in _REASONS:
        names: Sequence[str] = getattr(pattern, field)
        if names:
            return reason.format(node=described(names[0], nodes))
    return ""


def described(name: str, nodes: Mapping[str, GraphNode]) -> str:
    """A node with its operator."""
    operator = nodes[name].op_type if name in nodes else "node"
    return f"{operator} {shortened(name_of(name), _NAME_LENGTH)!r}"


def times_of(profile: Profile, patterns: Sequence[Pattern]) -> list[NodeTime]:
    """The executed nodes of some operations."""
    return doing(profile, (name for each in patterns for name in each.nodes))


def unfused_hazard(
    profile: Profile, inspection: Inspection, kind: str, title: str, remedy: str, trials: tuple[Trial, ...]
) -> Hazard | None:
    """All unfused operations of a kind as one hazard; None without any."""
    found = unfused(profile, inspection, kind)
    times = times_of(profile, found)
    if not found or not times:
        return None
    nodes = {node.name: node for node in inspection.graph.nodes}
    reason = next(filter(None, (breaker(each, nodes) for each in found)), "")
    all_of_kind = sum(each.kind == kind for each in inspection.patterns)
    share = share_of(profile, times)
    part = f", {share_percent(share)} of the time" if share is not None else ""
    taking = f"{count(len(times), 'node')}{part}"
    return Hazard(
        kind=f"unfused-{kind}",
        title=title,
        evidence=f"{len(found)} of {all_of_kind}, {taking}" + (f"; in the first, {reason}" if reason else ""),
        remedy=remedy,
        nodes=names_of(times),
        share=share,
        trials=trials,
    )
