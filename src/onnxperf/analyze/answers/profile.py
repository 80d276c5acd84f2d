"""Where the time and the memory of an inference go, in one plain sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxperf.records.node_memory import NodeMemories, NodeMemory
from onnxperf.records.profile import DOMINATING_OVERHEAD, LARGE_OVERHEAD, NodeTime, OperatorTime, Profile
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, decimal_size, share_percent, significant

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
    listing = ", ".join(parts or [f"the largest share, {costly[0].op_name}'s, is under {share_percent(WORTH_NAMING)}"])
    # The name of a node keeps its spelling at the start of the sentence.
    start = listing if parts else f"{listing[0].upper()}{listing[1:]}"
    nodes = count(len(profile.nodes), "node")
    of_profiler = (profile.overhead or 0.0) >= DOMINATING_OVERHEAD
    whole = f"the profiled time in {nodes}, not of the model" if of_profiler else f"the time in {nodes}"
    return f"{overhead_words(profile.overhead)}{start} of {whole}."


def overhead_words(overhead: float | None) -> str:
    """What the profiler adds to a call, as the first sentence of an answer; empty if that is little, or unknown."""
    if overhead is None or overhead < LARGE_OVERHEAD:
        return ""
    longer = f"With the profiler, a call takes {significant(overhead)} times as long"
    if overhead < DOMINATING_OVERHEAD:
        return f"{longer}, so short nodes look longer than they are. "
    return f"{longer}, so times of nodes are mostly the profiler's. "


def _operator(operator: OperatorTime, nodes: Sequence[NodeTime], everything: float) -> str:
    """An operator and its most costly node; that node alone where it takes nearly all of it."""
    top = max(nodes, key=lambda node: node.usual_us)
    share = share_percent(top.usual_us / everything)
    original = _original(top)
    if top.usual_us >= DOMINATING * operator.usual_us:
        about = ", ".join(_about(top, original))
        return f"{_short(top.name)}{f' ({about})' if about else ''} takes {share}"
    origin = f" from {_short(original)}" if original else ""
    place = f"{_short(top.name)}{origin}{f' of {_short(top.module)}' if top.module else ''}"
    return f"{operator.op_name} takes {share_percent(operator.usual_us / everything)} ({share} in {place})"


def _original(node: NodeTime) -> str:
    """The original node that it is called after, where its own name is not that of one."""
    return node.sources[0] if node.sources and node.name not in node.sources else ""


def _about(node: NodeTime, original: str) -> Iterator[str]:
    """What the name of a node leaves open: its operator, the original node, the module."""
    if node.op_name.lower() not in f"{node.name} {original}".lower():
        yield node.op_name
    if original:
        yield f"from {_short(original)}"
    if node.module:
        yield _short(node.module)


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
