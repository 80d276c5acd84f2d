"""What a finder of hazards looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from onnxperf.records.advice import Hazard
from onnxperf.records.inspection import Inspection
from onnxperf.records.memory import InputCopy
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import NodeTime, Profile, sum_of


class ArenaUse(Struct, frozen=True, kw_only=True):
    """Memory of onnxruntime's arena in a steady call."""

    held_bytes: int
    """What it took from the system."""
    loaded_bytes: int
    """What of that was in use before the first call: weights that kernels have packed."""
    planned_bytes: int
    """The least that intermediate results and outputs need: the largest live set over the nodes."""


class Facts(Struct, frozen=True, kw_only=True):
    """What is known of a model and its session before anything is tried."""

    profile: Profile
    """Executed nodes with their times, shapes, providers and original nodes."""
    inspection: Inspection
    """What the model's file says."""
    session: SessionOptions
    """The session that was profiled, which is also the baseline of all trials."""
    cores: int
    """Physical cores that may be used."""
    call_ns: float | None = None
    """Time of an undisturbed call without the profiler, in nanoseconds; None where it was not measured."""
    busy: float | None = None
    """Processors that calls keep busy on average: CPU time of all threads / time; None where it was not measured."""
    arena: ArenaUse | None = None
    """What onnxruntime's arena holds; None where the trace does not say."""
    copies: tuple[InputCopy, ...] = ()
    """Inputs that every call copies, because they have another type or are not contiguous."""
    denormals: dict[str, float] | None = None
    """Tensors with denormal numbers in a call on these inputs, and the part of their elements; None: unknown."""

    @property
    def run_us(self) -> float:
        """The measured inference in the trace, or the sum of its nodes where the trace has no more."""
        return self.profile.usual_run_us or self.profile.usual_nodes_us

    def share_of(self, rows: Iterable[NodeTime]) -> float:
        """Part of the measured inference in these nodes, from 0 to 1."""
        return min(sum_of(rows) / self.run_us, 1.0) if self.run_us > 0 else 0.0


Finder = Callable[[Facts], Iterator[Hazard]]
"""Every file of this folder but this one has one, named `find`."""
