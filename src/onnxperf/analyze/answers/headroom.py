"""How far from what a machine can do a model is, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxperf.analyze.trace.headroom import NEAR
from onnxperf.records.headroom import CPU_PROVIDER, Bound, Headroom, Limit, Peaks
from onnxperf.records.profile import DOMINATING_OVERHEAD, OperatorTime, Profile
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, grouped, plain, share_percent, significant, time_text, whole_percent

WORTH_WINNING = 0.03
"""The share of the time from which on what could be won is named."""
_WORTH_NOTING = 0.05
_NEARLY_ALL = 0.995
_MOSTLY = 0.5
"""The share of disturbed time from which on nothing is said about the rest."""
_BEST = "what this machine can do"
_NAME_LENGTH = 48


def headroom_answer(profile: Profile) -> str:
    """How much of the time is near its limit, and which operator could win the most."""
    headroom = profile.headroom
    if headroom is None or not headroom.whole.time_us:
        return ""
    whole_us = headroom.whole.time_us
    unknown, disturbed = _share(headroom, "unknown"), _share(headroom, "disturbed")
    if unknown >= _NEARLY_ALL:
        return "Headroom unknown: no limit of these nodes is known."
    if disturbed > _MOSTLY:
        return _not_judged(profile, disturbed)
    reached = "what this machine reached while other programs used it" if headroom.peaks.disturbed else _BEST
    part = f"{share_percent(headroom.near_share)} of the time" if headroom.near_share else "No node"
    near = f"{part} is within {plain(NEAR)}× of {reached}"
    if unknown >= _WORTH_NOTING:
        near += f", the limit of {share_percent(unknown)} is not known"
    if disturbed >= _WORTH_NOTING:
        near += f", {share_percent(disturbed)} was disturbed by other programs and is not judged"
    pairs = zip(profile.operators, headroom.operators, strict=True)
    operator, limit = max(pairs, key=lambda each: each[1].could_win_us)
    if limit.could_win_us < WORTH_WINNING * whole_us:
        return f"{near}; no operator is known to win {whole_percent(WORTH_WINNING)}."
    won, of = time_text(limit.could_win_us * 1e3), time_text(whole_us * 1e3)
    return f"{near}; {_nodes(profile, operator)} could win up to {won} of {of}."


def _share(headroom: Headroom, bound: Bound) -> float:
    return sum(each.time_us for each in headroom.nodes if each.bound == bound) / headroom.whole.time_us


def _not_judged(profile: Profile, disturbed: float) -> str:
    """Why nothing is said about what could be won."""
    if (profile.overhead or 0.0) >= DOMINATING_OVERHEAD:
        return "What could be won is not judged."
    share = profile.machine.others_share if profile.machine is not None else None
    used = f"other programs used {whole_percent(share or 0.0)} of the processors"
    so = f"{used}, and {share_percent(disturbed)} of the time in nodes was disturbed"
    return f"The machine was too busy to judge what could be won: {so}."


def _nodes(profile: Profile, operator: OperatorTime) -> str:
    """The nodes of an operator; the only one by its name."""
    if operator.nodes > 1:
        return f"the {grouped(operator.nodes)} {operator.op_name} nodes"
    node = next(each for each in profile.nodes if each.op_name == operator.op_name)
    name = shortened(name_of(node.name), _NAME_LENGTH)
    return name if operator.op_name.lower() in name.lower() else f"{name} ({operator.op_name})"


def headroom_notes(profile: Profile) -> Iterator[str]:
    """What a reader of the limits must know."""
    headroom = profile.headroom
    if headroom is None or not headroom.whole.time_us:
        return
    whole_us = headroom.whole.time_us
    pairs = list(zip(profile.nodes, headroom.nodes, strict=True))
    yield f"limits: {peaks_text(headroom.peaks)}, with {count(headroom.peaks.threads, 'thread')}"
    if headroom.peaks.disturbed:
        yield "the limits were measured on a busy machine and may be too low: the next `roofline` measures them again"
    elsewhere = [limit for node, limit in pairs if node.provider not in ("", CPU_PROVIDER)]
    if elsewhere:
        yield f"{count(len(elsewhere), 'node runs', 'nodes run')} on another provider, whose limits are not known"
    uncounted: dict[str, float] = {}
    for node, limit in pairs:
        if not limit.counted and node.provider in ("", CPU_PROVIDER):
            uncounted[node.op_name] = uncounted.get(node.op_name, 0.0) + node.usual_us
    if sum(uncounted.values()) >= _WORTH_NOTING * whole_us:
        costly = sorted(uncounted, key=lambda name: -uncounted[name])[:3]
        share = share_percent(sum(uncounted.values()) / whole_us)
        yield f"the arithmetic of {', '.join(map(name_of, costly))} ({share} of the time) is not counted"
    yield from _faster(headroom)


def _faster(headroom: Headroom) -> Iterator[str]:
    faster = [each for each in headroom.nodes if _is_faster(each)]
    if faster:
        nodes = count(len(faster), "node was faster than its limit, and counts as being at it", _SEVERAL_FASTER)
        yield f"{nodes}: the peaks are measured, and small times are whole microseconds"


_SEVERAL_FASTER = "nodes were faster than their limits, and count as being at them"


def _is_faster(limit: Limit) -> bool:
    return limit.is_judged and limit.limit_us > limit.time_us > 0


def peaks_text(peaks: Peaks) -> str:
    """Speeds of arithmetic and of memory."""
    integers = "" if peaks.int8_gop_per_s is None else f" (int8: {significant(peaks.int8_gop_per_s)} GOP/s)"
    memory = f"{significant(peaks.memory_gb_per_s)} GB/s from memory, {significant(peaks.cache_gb_per_s)} from a cache"
    return f"{significant(peaks.gflop_per_s)} GFLOP/s{integers}, {memory}"


def peak_rows(peaks: Sequence[Peaks], missing: str) -> dict[str, str]:
    """What a machine reached, a row for each number of threads; and why one is missing."""
    rows = {f"peak on {count(each.threads, 'thread')}": peaks_text(each) for each in peaks}
    return {**rows, **({"peaks": f"not measured: {missing}"} if missing else {})}
