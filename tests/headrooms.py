"""Peaks of a round machine, and profiles with limits on it."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.analyze.trace.headroom import node_limit, summed_up
from onnxperf.analyze.trace.work import work_of
from onnxperf.records.headroom import Bandwidth, Peaks
from onnxperf.records.profile import Profile

KB, MB = 1000, 10**6
PEAKS = Peaks(
    threads=1,
    cores=2,
    gflop_per_s=100.0,
    int8_gop_per_s=200.0,
    bandwidths=(
        Bandwidth(size_bytes=100 * KB, gb_per_s=100.0),
        Bandwidth(size_bytes=10 * MB, gb_per_s=50.0),
        Bandwidth(size_bytes=1000 * MB, gb_per_s=10.0),
    ),
    onnxruntime="1.31.1",
    date="2026-01-02T03:04:05+00:00",
)


def with_limits(profile: Profile, peaks: Peaks = PEAKS) -> Profile:
    """A profile whose nodes had the shapes of their first execution in all of them."""
    nodes = tuple(
        node_limit(node, [(work_of(node.op_name, node.inputs, node.outputs), 1.0)], peaks, 0.0)
        for node in profile.nodes
    )
    return replace(profile, headroom=summed_up(profile, nodes, peaks))
