"""Facts that hazard finders use."""

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
    """Memory taken from the system."""
    loaded_bytes: int
    """Part of it in use before the first call: weights packed by kernels."""
    planned_bytes: int
    """Minimum for intermediate results and outputs: the largest live set over all nodes."""


class Facts(Struct, frozen=True, kw_only=True):
    """Facts about a model and its session before any remedy is tested."""

    profile: Profile
    """Executed nodes with their times, shapes, providers and original nodes."""
    inspection: Inspection
    """Facts from the model file."""
    session: SessionOptions
    """The profiled session, which is also the baseline of all candidates."""
    cores: int
    """Available physical cores."""
    call_ns: float | None = None
    """Time of an undisturbed call without the profiler, in nanoseconds; None if not measured."""
    busy: float | None = None
    """Average number of processors that calls keep busy: CPU time of all threads / time; None if not measured."""
    arena: ArenaUse | None = None
    """Memory of onnxruntime's arena; None if the trace lacks it."""
    copies: tuple[InputCopy, ...] = ()
    """Inputs copied by every call because their type differs or they are not contiguous."""
    denormals: dict[str, float] | None = None
    """Tensors with denormal numbers in a call on these inputs, and their share of the elements; None if unknown."""

    @property
    def run_us(self) -> float:
        """Measured time of an inference, or the sum of its nodes if the trace contains nothing else."""
        return self.profile.usual_run_us or self.profile.usual_nodes_us

    def share_of(self, rows: Iterable[NodeTime]) -> float:
        """Share of the measured inference spent in these nodes, from 0 to 1."""
        return min(sum_of(rows) / self.run_us, 1.0) if self.run_us > 0 else 0.0


Finder = Callable[[Facts], Iterator[Hazard]]
"""Every hazard file of this folder defines one, named `find`."""
