"""How close the nodes of a profile, and its operators, sources and modules, come to the peaks of the machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import places_of
from onnxperf.analyze.trace.events import TraceLayout, combine, number_distinct
from onnxperf.analyze.trace.work import Work, constant_bytes_of, work_of
from onnxperf.records.base import FREE_SHARE, is_busy
from onnxperf.records.graph import Place
from onnxperf.records.headroom import CPU_PROVIDER, Bound, Headroom, Limit, NodeSettings, Peaks
from onnxperf.records.profile import DOMINATING_OVERHEAD, NodeTime, Profile, steady, undisturbed
from onnxperf.records.trace import Trace

NEAR = 1.5
"""Multiple of its limit up to which a node counts as near it."""
_FEWEST_FREE = 2
"""Minimum number of iterations without waiting that show the time of a node on a busy machine, …"""
_AGREEING = 1.2
"""… and the factor within which its typical time agrees with them."""


def headroom_of(
    profile: Profile, trace: Trace, layout: TraceLayout, settings: Sequence[NodeSettings], peaks: Peaks
) -> Headroom:
    """The limits of everything in the profile that has a time."""
    known: Mapping[Place, NodeSettings] = {(each.path, each.name): each for each in settings}
    # An inference reads all weights once: if they do not fit into a cache together, each is read from memory.
    weights_bytes = constant_bytes_of(settings)
    executions = _executions(trace, layout, known)
    calls = np.bincount(layout.node[layout.counted], minlength=len(layout.node_rows))
    numbers = np.flatnonzero(calls).tolist()  # the nodes of the profile, in its order
    limits = [
        node_limit(node, executions.get(number, []), peaks, weights_bytes)
        for number, node in zip(numbers, profile.nodes, strict=True)
    ]
    return summed_up(profile, judged_limits(profile, limits), peaks)


def judged_limits(profile: Profile, limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """The limits of nodes; nodes with disturbed times are not judged."""
    free = _free_iterations(profile)
    return tuple(
        limit
        if not limit.is_judged or _is_undisturbed(node, profile, free)
        else replace(limit, best_us=limit.time_us, bound="disturbed")
        for node, limit in zip(profile.nodes, limits, strict=True)
    )


def _is_undisturbed(node: NodeTime, profile: Profile, free: Sequence[int]) -> bool:
    """Whether the time of a node is free of the profiler and other programs.

    On a busy machine, agreement between launches proves nothing: two threads that share one processor in all of them
    take twice as long in all of them. The time must therefore agree with iterations in which no thread waited for a
    processor.
    """
    if (profile.overhead or 0.0) >= DOMINATING_OVERHEAD:
        return False
    if not is_busy(profile.machine.others_share if profile.machine is not None else None):
        return True
    alike = [profile.alike[at] for at in free] if profile.alike else ()
    own_us = undisturbed([node.self_us[at] for at in free], alike)
    return len(free) >= _FEWEST_FREE and node.usual_us <= _AGREEING * own_us


def _free_iterations(profile: Profile) -> list[int]:
    """Counted iterations in which threads hardly waited for a processor."""
    pairs = enumerate(zip(profile.waited_us, profile.run_us, strict=False))
    return [at for at, (waited, run) in pairs if at and waited is not None and waited <= FREE_SHARE * run]


def summed_up(profile: Profile, nodes: tuple[Limit, ...], peaks: Peaks) -> Headroom:
    """The limits of nodes and their sums over operators, sources and modules."""
    whole = together(nodes)
    near = sum(each.time_us for each in nodes if _is_near(each))
    return Headroom(
        peaks=peaks,
        whole=whole,
        near_share=near / whole.time_us if whole.time_us else 0.0,
        nodes=nodes,
        operators=_of_operators(profile, nodes),
        sources=_of_sources(profile, nodes),
        modules=_of_modules(profile, nodes),
    )


def _is_near(limit: Limit) -> bool:
    return limit.is_judged and limit.ratio is not None and limit.ratio <= NEAR


def together(limits: Iterable[Limit]) -> Limit:
    """The sum of several limits, so that possible gains add up."""
    members = list(limits)
    bounds: dict[Bound, float] = defaultdict(float)
    for each in members:
        bounds[each.bound] += each.best_us
    best_us = sum(each.best_us for each in members)
    counted = [each for each in members if each.counted]
    return Limit(
        time_us=sum(each.time_us for each in members),
        limit_us=sum(each.limit_us for each in members),
        best_us=best_us,
        flop=sum(each.flop for each in counted),
        moved_bytes=sum(each.moved_bytes for each in members),
        counted=len(counted) == len(members),
        bound=max(bounds, key=lambda bound: bounds[bound]) if best_us else "nothing",
    )


# ---------------------------------------------------------------- nodes


Executions = list[tuple[Work, float]]
"""Distinct executions of a node, and how often each occurs per inference."""


def _executions(trace: Trace, layout: TraceLayout, settings: Mapping[Place, NodeSettings]) -> dict[int, Executions]:
    """The executions of every node in the iterations that determine its typical time."""
    iterations = range(max(layout.iterations, 1))
    counted = steady(iterations)
    rows = np.flatnonzero(layout.counted & (layout.iteration >= counted[0]))
    shapes = combine(trace.inputs.codes[rows], trace.outputs.codes[rows])
    kinds, first = number_distinct(combine(layout.node[rows], shapes))
    often = np.bincount(kinds, minlength=len(first)) / len(counted)
    places = layout.places()
    found: dict[int, Executions] = defaultdict(list)
    for row, calls in zip(rows[first].tolist(), often.tolist(), strict=True):
        node = int(layout.node[row])
        work = work_of(
            trace.op_names.at(row, ""), trace.inputs.at(row, ()), trace.outputs.at(row, ()), settings.get(places[node])
        )
        found[node].append((work, calls))
    return found


def node_limit(node: NodeTime, executions: Executions, peaks: Peaks, weights_bytes: float) -> Limit:
    """The work of a node in an inference, and its shortest possible time."""
    compute_us = memory_us = flop = moved = 0.0
    counted, time_us = True, node.usual_us
    for work, calls in executions:
        speed = _speed(work, peaks)
        arithmetic_us = work.flop / speed / 1e3 if work.flop is not None and speed else 0.0
        bytes_us = memory_time_us(work, peaks, weights_bytes)
        counted &= work.flop is not None and speed is not None
        flop += calls * (work.flop or 0.0)
        moved += calls * work.moved_bytes
        compute_us += calls * (arithmetic_us if arithmetic_us >= bytes_us else 0.0)
        memory_us += calls * (bytes_us if bytes_us > arithmetic_us else 0.0)
    limit_us = compute_us + memory_us
    is_here = node.provider in ("", CPU_PROVIDER)
    if not is_here or not counted:
        # Data movement is only part of the work: the possible gain is unknown.
        return Limit(
            time_us=time_us,
            limit_us=memory_us if is_here else 0.0,
            best_us=time_us,
            flop=flop,
            moved_bytes=moved,
            counted=False,
            bound="unknown",
        )
    return Limit(
        time_us=time_us,
        limit_us=limit_us,
        best_us=min(limit_us, time_us),
        flop=flop,
        moved_bytes=moved,
        bound="nothing" if not limit_us else "compute" if compute_us >= memory_us else "memory",
    )


def _speed(work: Work, peaks: Peaks) -> float | None:
    """Peak GFLOP/s for a node's arithmetic; a double is as wide as two floats."""
    speeds = {"float": peaks.gflop_per_s, "double": peaks.gflop_per_s / 2, "int8": peaks.int8_gop_per_s}
    return speeds[work.arithmetic]


def memory_time_us(work: Work, peaks: Peaks, weights_bytes: float) -> float:
    """Shortest time for a node's data movement: activations may be in a cache, weights only if all of them fit."""
    constant_rate = peaks.gb_per_s(max(weights_bytes, work.constant_bytes))
    return work.streamed_bytes / peaks.gb_per_s(work.streamed_bytes) / 1e3 + work.constant_bytes / constant_rate / 1e3


# ---------------------------------------------------------------- groups


def _of_operators(profile: Profile, nodes: Sequence[Limit]) -> tuple[Limit, ...]:
    members: dict[str, list[Limit]] = defaultdict(list)
    for node, limit in zip(profile.nodes, nodes, strict=True):
        members[node.op_name].append(limit)
    return tuple(together(members[each.op_name]) for each in profile.operators)


def _of_sources(profile: Profile, nodes: Sequence[Limit]) -> tuple[Limit, ...]:
    members: dict[int, list[Limit]] = defaultdict(list)
    places = places_of([source.group for source in profile.sources], profile.nodes)
    for place, limit in zip(places, nodes, strict=True):
        if place is not None:
            members[place[0]].append(limit)
    return tuple(together(members[index]) for index in range(len(profile.sources)))


def _of_modules(profile: Profile, nodes: Sequence[Limit]) -> tuple[Limit, ...]:
    """Limits of modules, including nested ones."""
    return tuple(
        together(limit for node, limit in zip(profile.nodes, nodes, strict=True) if _is_in(node.module, module.module))
        for module in profile.modules
    )


def _is_in(module: str | None, outer: str) -> bool:
    return module is not None and (not outer or module == outer or module.startswith(f"{outer}."))
