"""Where the time and the memory of an inference go, in one plain sentence each."""

from __future__ import annotations

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import Profile
from onnxperf.wording.numbers import count, decimal_size, share_percent

WORTH_NAMING = 0.05
"""The share of the time from which on an operator is named."""
_MOST_NAMED = 3


def profile_answer(profile: Profile) -> str:
    """The operators that take the most time."""
    shares = sorted(((each.op_name, each.usual_us) for each in profile.operators), key=lambda share: -share[1])
    everything = sum(time for _, time in shares)
    if not everything:
        return "No node took any time that the trace could show."
    parts = [
        f"{name} takes {share_percent(time / everything)}"
        for name, time in shares[:_MOST_NAMED]
        if time >= WORTH_NAMING * everything
    ]
    listing = ", ".join(parts or [f"the largest share, {shares[0][0]}'s, is under {share_percent(WORTH_NAMING)}"])
    return f"{listing[0].upper()}{listing[1:]} of the time in {count(len(profile.nodes), 'node')}."


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
