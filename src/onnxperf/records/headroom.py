"""Peak performance of a machine, and how close the nodes of a profile come to it."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from onnxperf.records.graph import Path
from onnxperf.records.numbers import Amount, Count
from onnxperf.records.trace import TensorType

Bound = Literal["compute", "memory", "nothing", "unknown", "disturbed"]
"""What limits a node. compute: arithmetic. memory: moving its bytes. nothing: it has no work, such as a view. unknown:
its limit is unknown. disturbed: its time includes other work, so it is not judged."""

CPU_PROVIDER = "CPUExecutionProvider"
"""Provider for whose nodes the measured peaks apply."""
LEFT_OUT = TensorType("", ())
"""Placeholder for an omitted optional input."""


class Bandwidth(Struct, frozen=True, kw_only=True):
    """Throughput of repeatedly reading and writing arrays of one size."""

    size_bytes: Count
    """Total size of the arrays of all threads."""
    gb_per_s: Amount
    """GB per second (10^9 bytes, read and written) of the fastest of a copy, a sum and a dot product."""


class Peaks(Struct, frozen=True, kw_only=True):
    """Peak performance of a machine with a given number of threads."""

    threads: Count
    """Number of threads of onnxruntime and the copies."""
    cores: Count = 0
    """Physical cores available during the measurement; 0 if unknown."""
    gflop_per_s: Amount
    """GFLOP per second (float32) of onnxruntime's matrix multiplication."""
    int8_gop_per_s: Amount | None = None
    """8-bit integer operations per second of onnxruntime's matrix multiplication, in 10^9; null if not measured."""
    bandwidths: tuple[Bandwidth, ...]
    """Bandwidths by array size, from arrays that fit in caches to arrays that fit only in memory."""
    disturbed: bool = False
    """Whether other programs kept the processors busy during the measurement, so that some figures may be too low. The
    next profile then measures the peaks again."""
    onnxruntime: str = ""
    """Version of onnxruntime used."""
    date: str = ""
    """Date of the measurement."""

    @property
    def memory_gb_per_s(self) -> float:
        """Bandwidth for arrays larger than all caches."""
        return self.bandwidths[-1].gb_per_s

    @property
    def cache_gb_per_s(self) -> float:
        """Highest bandwidth, with arrays that fit in a cache."""
        return max(each.gb_per_s for each in self.bandwidths)

    def gb_per_s(self, size_bytes: float) -> float:
        """Bandwidth for so many bytes, interpolated between measured sizes on a logarithmic scale.

        Larger arrays are never faster: measurements that say so were disturbed.
        """
        rates = [max(each.gb_per_s for each in self.bandwidths[at:]) for at in range(len(self.bandwidths))]
        sizes = [each.size_bytes for each in self.bandwidths]
        if size_bytes <= sizes[0]:
            return rates[0]
        for at in range(1, len(sizes)):
            if size_bytes <= sizes[at]:
                part = math.log(size_bytes / sizes[at - 1]) / math.log(sizes[at] / sizes[at - 1])
                return rates[at - 1] + part * (rates[at] - rates[at - 1])
        return rates[-1]


class NodeSettings(Struct, frozen=True, kw_only=True):
    """Facts about a node that the executed graph contains but the trace does not."""

    path: Path = ()
    """Nodes whose bodies contain it, outermost first."""
    name: str
    """Node name."""
    op_name: str = ""
    """Operator type."""
    constants: tuple[TensorType | None, ...] = ()
    """Types of the inputs that are initializers, by position; null for other inputs, `LEFT_OUT` for omitted ones."""
    numbers: dict[str, tuple[int, ...]] = {}
    """Integer attributes, such as group; for a list of floats, its length."""
    texts: dict[str, str] = {}
    """Attributes that are short strings, such as the equation of an Einsum."""


class Limit(Struct, frozen=True, kw_only=True):
    """Work of nodes in an inference, and the shortest time that this machine needs for it."""

    time_us: Amount
    """Time in a typical iteration, as in the profile; for several nodes, the sum."""
    limit_us: Amount
    """Time that the arithmetic or the data movement takes at peak performance; for several nodes, the sum."""
    best_us: Amount
    """The limit, capped at each node's own time: a node faster than its limit counts as at the limit. If the limit is
    unknown or the time disturbed, the node's own time, so that no gain is claimed."""
    flop: Amount
    """Number of operations (an addition and a multiplication are two), as far as counted."""
    moved_bytes: Amount
    """Number of bytes read and written."""
    counted: bool = True
    """Whether all arithmetic is counted; if not, the limit includes only data movement."""
    bound: Bound = "memory"
    """What limits the time; for several nodes, what limits most of their best time."""

    @property
    def is_judged(self) -> bool:
        """Whether the time can be compared with a limit."""
        return self.bound not in ("unknown", "disturbed")

    @property
    def could_win_us(self) -> float:
        """Largest possible gain."""
        return max(self.time_us - self.best_us, 0.0)

    @property
    def ratio(self) -> float | None:
        """Time / best time, at least 1; None if there is no work."""
        return max(self.time_us / self.best_us, 1.0) if self.best_us > 0 else None

    @property
    def gflop_per_s(self) -> float | None:
        """Operations per second in 10^9, at most the peak (a node is never faster than its limit); None if they are not
        counted or the time is disturbed."""
        return self._rate(self.flop) if self.counted else None

    @property
    def gb_per_s(self) -> float | None:
        """GB per second, at most the peak; None if the time is disturbed."""
        return self._rate(self.moved_bytes)

    def _rate(self, work: float) -> float | None:
        time_us = max(self.time_us, self.limit_us)
        return work / time_us / 1e3 if time_us > 0 and self.bound != "disturbed" else None


class Headroom(Struct, frozen=True, kw_only=True):
    """How close a profile comes to the peaks of the machine."""

    peaks: Peaks
    """Peak performance of the machine with the session's number of threads."""
    whole: Limit
    """All nodes together; their time is at most that of the profile."""
    near_share: Amount
    """Share of the time spent in nodes within 1.5 times their limit, from 0 to 1."""
    nodes: tuple[Limit, ...] = ()
    """Limit of each node of the profile, in the same order."""
    operators: tuple[Limit, ...] = ()
    """Limit of each operator."""
    sources: tuple[Limit, ...] = ()
    """Limit of each group of original nodes."""
    modules: tuple[Limit, ...] = ()
    """Limit of each module, including nested modules."""
