"""Where the time and the memory of an inference go, in one plain sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import DOMINATING_OVERHEAD, LARGE_OVERHEAD, NodeTime, OperatorTime, Profile
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, decimal_size, ratio, share_percent

WORTH_NAMING = 0.05
"""The share of the time from which on an operator is named."""
DOMINATING = 0.8
"""The share of an operator's time from which on one node stands for it."""
_MOST_NAMED = 3
_NAME_LENGTH = 48


def profile_answer(profile: Profile) -> str:
    """The nodes and operators that take the most time, each as a share of the sum of all nodes."""
    everything = profile.usual_nodes_us
    if not everything or not profile.operators:
        return "No node took any time that the trace could show."
    costly = sorted(profile.operators, key=lambda operator: -operator.usual_us)[:_MOST_NAMED]
    parts = [
        _operator(operator, [node for node in profile.nodes if node.op_name == operator.op_name], everything)
        for operator in costly
        if operator.usual_us >= WORTH_NAMING * everything
    ]
    first, *more = parts or [f"Every operator takes less than {share_percent(WORTH_NAMING)}"]
    nodes = count(len(profile.nodes), "node")
    of_profiler = (profile.overhead or 0.0) >= DOMINATING_OVERHEAD
    whole = f"the profiled time in {nodes}" if of_profiler else f"the time in {nodes}"
    listing = ", ".join([f"{first} of {whole}", *(each.replace(" takes ", " ", 1) for each in more)])
    return f"{overhead_words(profile.overhead)}{listing}."


def overhead_words(overhead: float | None) -> str:
    """What the profiler adds to a call, as the first sentence of an answer; empty if that is little, or unknown."""
    if overhead is None or overhead < LARGE_OVERHEAD:
        return ""
    longer = f"With the profiler, a call takes {ratio(overhead)} as long"
    if overhead < DOMINATING_OVERHEAD:
        return f"{longer}: short nodes look longer than they are.\n"
    return f"{longer}: times of nodes are mostly the profiler's.\n"


def _operator(operator: OperatorTime, nodes: Sequence[NodeTime], everything: float) -> str:
    """An operator and its most costly node; that node alone where it takes nearly all of it."""
    top = max(nodes, key=lambda node: node.usual_us)
    share, name = share_percent(top.usual_us / everything), _short(_original(top))
    if top.usual_us >= DOMINATING * operator.usual_us:
        about = "" if operator.op_name.lower() in name.lower() else f" ({operator.op_name})"
        return f"{name}{about} takes {share}"
    return f"{operator.op_name} takes {share_percent(operator.usual_us / everything)} ({share} in {name})"


def _original(node: NodeTime) -> str:
    """The node of the model that it is, or that comes first of those it was made of."""
    return node.sources[0] if node.sources and node.name not in node.sources else node.name


def _short(name: str) -> str:
    return shortened(name_of(name), _NAME_LENGTH)


def node_memory_answer(record: NodeMemories) -> str:
    """The peak and the planned minimum."""
    peak = next(node for node in record.nodes if node.is_peak)
    most_in_use = f"The most is in use at {_name(peak)} ({peak.op_name}): {decimal_size(peak.in_use_bytes)}"
    live = [node for node in record.nodes if node.live_bytes is not None]
    if not live:
        return f"{most_in_use}."
    most = max(live, key=lambda node: node.live_bytes or 0)
    needed = decimal_size(most.live_bytes)
    return f"{most_in_use}; without reuse in place, results need {needed}, at {_name(most)}."


def _name(node: NodeMemory) -> str:
    return "/".join([*node.path, node.name])
