"""What a machine can do at best, and how far from that the nodes of a profile are."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from onnxperf.records.graph import Path
from onnxperf.records.numbers import Amount, Count
from onnxperf.records.trace import TensorType

Bound = Literal["compute", "memory", "nothing", "unknown", "disturbed"]
"""What limits a node: arithmetic, moving its bytes; nothing, as a view has no work; its limit is not known; or its time
is not that of the node alone, so that it is not judged."""

CPU_PROVIDER = "CPUExecutionProvider"
"""Where nodes run for which the peaks of this machine hold."""
LEFT_OUT = TensorType("", ())
"""In place of an optional input that a node does not have."""


class Bandwidth(Struct, frozen=True, kw_only=True):
    """How fast arrays of one size are read and written again and again."""

    size_bytes: Count
    """Of all arrays of all threads together."""
    gb_per_s: Amount
    """Billions of bytes a second, read and written, of the fastest of a copy, a sum and a scalar product."""


class Peaks(Struct, frozen=True, kw_only=True):
    """What a machine reached with a number of threads."""

    threads: Count
    """Threads of onnxruntime, and of the copies."""
    cores: Count = 0
    """Physical cores that could be used meanwhile; 0 where that is not known."""
    gflop_per_s: Amount
    """Billions of 32-bit floating-point operations a second in onnxruntime's matrix product."""
    int8_gop_per_s: Amount | None = None
    """The same of 8-bit integers; null where it was not measured."""
    bandwidths: tuple[Bandwidth, ...]
    """From the smallest arrays, which caches hold, to those that only memory holds."""
    disturbed: bool = False
    """Other programs used the processors meanwhile, and some figure has no call without waiting for one: it may be too
    low. Such peaks are measured again by the next profile."""
    onnxruntime: str = ""
    """Version of onnxruntime that multiplied."""
    date: str = ""
    """When it was measured."""

    @property
    def memory_gb_per_s(self) -> float:
        """Bandwidth with arrays that no cache holds."""
        return self.bandwidths[-1].gb_per_s

    @property
    def cache_gb_per_s(self) -> float:
        """Bandwidth where it is largest: with arrays that a cache holds."""
        return max(each.gb_per_s for each in self.bandwidths)

    def gb_per_s(self, size_bytes: float) -> float:
        """Bandwidth for so many bytes: between two measured sizes on the line through both, on a logarithmic scale.

        Larger arrays are never faster: what says so was disturbed.
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
    """What an executed graph says about a node, and a trace does not."""

    path: Path = ()
    """Nodes whose bodies it is in, the outermost first."""
    name: str
    """Its name."""
    op_name: str = ""
    """Operator type."""
    constants: tuple[TensorType | None, ...] = ()
    """Types of its inputs that are initialisers, at their places; null for others, `LEFT_OUT` for those that it does
    not have."""
    numbers: dict[str, tuple[int, ...]] = {}
    """Attributes that are integers, such as group; of a list of floats, its length."""
    texts: dict[str, str] = {}
    """Attributes that are short texts, such as the equation of an Einsum."""


class Limit(Struct, frozen=True, kw_only=True):
    """The work of nodes in an inference, and the time that this machine needs for it at best."""

    time_us: Amount
    """Time in the usual iteration, as in the profile; of several nodes, the sum."""
    limit_us: Amount
    """What arithmetic, or moving the bytes, takes at the peaks; of several nodes, the sum."""
    best_us: Amount
    """The same, of each node at most its own time: a node that was faster than its limit is at the limit. The own time
    where the limit is not known, or the time disturbed: such a node could win nothing that is known."""
    flop: Amount
    """Operations (an addition and a multiplication are two), as far as they are counted."""
    moved_bytes: Amount
    """Bytes read and written."""
    counted: bool = True
    """Whether all arithmetic is counted; where it is not, the limit has only what moving the bytes takes."""
    bound: Bound = "memory"
    """What limits it; of several nodes, what limits the larger part of their best time."""

    @property
    def is_judged(self) -> bool:
        """Whether its time can be compared with a limit."""
        return self.bound not in ("unknown", "disturbed")

    @property
    def could_win_us(self) -> float:
        """What could be won at best."""
        return max(self.time_us - self.best_us, 0.0)

    @property
    def ratio(self) -> float | None:
        """Time / best time, at least 1; None where nothing has to be done."""
        return max(self.time_us / self.best_us, 1.0) if self.best_us > 0 else None

    @property
    def gflop_per_s(self) -> float | None:
        """Billions of operations a second, where the time is not disturbed; never above the peak, since a node is never
        faster than its limit."""
        return self._rate(self.flop) if self.counted else None

    @property
    def gb_per_s(self) -> float | None:
        """Billions of bytes a second, where the time is not disturbed; never above the peak."""
        return self._rate(self.moved_bytes)

    def _rate(self, work: float) -> float | None:
        time_us = max(self.time_us, self.limit_us)
        return work / time_us / 1e3 if time_us > 0 and self.bound != "disturbed" else None


class Headroom(Struct, frozen=True, kw_only=True):
    """How far from the peaks of the machine a profile is."""

    peaks: Peaks
    """What the machine reached, with the threads of the session."""
    whole: Limit
    """All nodes; their time is at most that of the profile, whose iterations were fast as a whole."""
    near_share: Amount
    """Share of the time that is in nodes within 1.5 times their limit, from 0 to 1."""
    nodes: tuple[Limit, ...] = ()
    """One for each of the profile's nodes, in their order."""
    operators: tuple[Limit, ...] = ()
    """One for each of its operators."""
    sources: tuple[Limit, ...] = ()
    """One for each of its groups of original nodes."""
    modules: tuple[Limit, ...] = ()
    """One for each of its modules, modules inside included."""
