"""Memory cost of a subject: peak of each step, memory that remains, growth, and a breakdown."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import AnyCase, AnySubject, Document, Machine
from onnxperf.records.numbers import Count, Signed, UnixTime
from onnxperf.records.options import ArenaSetting

StepName = Literal["load", "first call", "steady call"]
GrowthKind = Literal["none", "leak", "arena", "step", "settling"]
CopyReason = Literal["cast", "layout"]
TensorRole = Literal["input", "intermediate", "output"]


class Resident(Struct, frozen=True, kw_only=True):
    """Resident pages of a process at one moment."""

    anonymous_bytes: Count
    """Anonymous memory: heap, arrays, arenas."""
    file_bytes: Count
    """Pages of files such as libraries or a mapped model, which the kernel can drop and reload."""

    @property
    def total_bytes(self) -> int:
        """Total of both kinds."""
        return self.anonymous_bytes + self.file_bytes


class MemoryStep(Struct, frozen=True, kw_only=True):
    """Loading, the first call, or a steady call; the high-water mark is reset just before each."""

    name: StepName
    """Name of the step."""
    before: Resident
    """Resident memory before it began."""
    peak_bytes: Count
    """Peak of resident memory while it ran."""
    after: Resident
    """Resident memory when it was done, with its result released; after - before is what remains."""
    exact: bool
    """Whether the peak is the kernel's high-water mark; if not, it is the highest sample, which misses short spikes."""
    duration_ns: Count
    """Duration, in ns."""

    @property
    def increment_bytes(self) -> int:
        """Peak above the resident memory before."""
        return max(self.peak_bytes - self.before.total_bytes, 0)

    @property
    def kept_bytes(self) -> int:
        """Memory that remained resident; negative if memory was released."""
        return self.after.total_bytes - self.before.total_bytes


class Growth(Struct, frozen=True, kw_only=True):
    """Growth of resident memory over many calls."""

    kind: GrowthKind
    """none: no growth; leak: growth with every call; arena: onnxruntime's arena grew; step: grew once; settling: grew,
    then stopped."""
    bytes_per_call: Signed
    """Median slope between the points, or, for an arena that grows throughout, growth / calls; else 0."""
    step_calls: Count | None = None
    """If it grew in a single step: number of calls before that."""
    step_bytes: Count | None = None
    """Growth in that step."""
    calls: tuple[Count, ...]
    """Number of calls before each point."""
    resident_bytes: tuple[Count, ...]
    """Anonymous memory at each point."""


class InputCopy(Struct, frozen=True, kw_only=True):
    """An input that is copied in every call."""

    name: str
    """Name of the input."""
    reason: CopyReason
    """cast: its type differs; layout: it is not contiguous."""
    from_type: str
    """Type of the given array."""
    to_type: str
    """Type required by the model."""
    copied_bytes: Count
    """Size of the copy."""


class LiveTensor(Struct, frozen=True, kw_only=True):
    """A tensor that is live while a node runs."""

    name: str
    """Name in the executed graph."""
    size_bytes: Count
    """Size of the tensor."""
    role: TensorRole
    """Role of the tensor: input, intermediate or output."""
    within: str = ""
    """Tensor whose memory it may share, as a view or by reuse in place; only that one is counted."""


class Breakdown(Struct, frozen=True, kw_only=True):
    """Breakdown of a model's memory."""

    dims: dict[str, Count] = {}
    """Dimension sizes for which inputs, copies, outputs and tensors are counted: the largest if there are several."""
    weights_on_disk_bytes: Count
    """Initializers in the file and its external data."""
    weights_in_memory_bytes: Count | None = None
    """Initializers of the executed graph, after constant folding."""
    input_bytes: Count
    """Size of the arrays that one call reads."""
    output_bytes: Count | None = None
    """Size of the arrays that one call returns."""
    copies: tuple[InputCopy, ...] = ()
    """Inputs that are copied in every call."""
    arena_held_bytes: Count | None = None
    """Maximum size of the memory that onnxruntime's arena took from the system."""
    arena_used_bytes: Count | None = None
    """Maximum memory in use in the arena, including weights packed by kernels."""
    planned_bytes: Count | None = None
    """Minimum for intermediate results and outputs: the largest live set over all nodes."""
    unexplained_bytes: Count | None = None
    """Needed memory that is neither the planned minimum nor a copy; null if small."""
    peak_node: str = ""
    """Node with the largest live set."""
    peak_op: str = ""
    """Operator type of that node."""
    alive: tuple[LiveTensor, ...] = ()
    """Live tensors at that node, largest first."""


class ArenaTrial(Struct, frozen=True, kw_only=True):
    """The same subject with another setting of onnxruntime's arena, alone in a separate process."""

    setting: ArenaSetting
    """Arena setting: off, same-as-requested (its extend strategy) or shrinkage (after each call)."""
    needed_bytes: Count | None
    """Needed memory; null if it could not be measured."""
    steady_ns: Count | None = None
    """Approximate time of a steady call, in ns: the median of a few."""


class MemorySubject(AnySubject, frozen=True, kw_only=True):
    """One row: a subject and its memory needs."""

    sizes: Count = 1
    """Number of input sizes that its calls alternate between."""
    steps: tuple[MemoryStep, ...] = ()
    """Steps: loading (not for a plain callable), the first call, and every steady call."""
    growth: Growth | None = None
    """Growth of resident memory over many calls."""
    started_s: UnixTime = 0.0
    """Unix time of the first sample."""
    sample_ns: tuple[Count, ...] = ()
    """Sample times since `started_s`, in ns."""
    sample_bytes: tuple[Count, ...] = ()
    """Resident memory of each sample."""
    step_ns: tuple[Count, ...] = ()
    """Start of each of `steps`, on the same clock as the samples."""
    breakdown: Breakdown | None = None
    """Breakdown of a model's memory."""
    trials: tuple[ArenaTrial, ...] = ()
    """Memory with other arena settings, measured if much of the need is unexplained."""

    def step(self, name: StepName) -> MemoryStep | None:
        """A step by name; of the steady calls the median one, or with several sizes the largest."""
        found = [step for step in self.steps if step.name == name]
        if self.sizes > 1:
            return max(found, key=lambda step: step.peak_bytes, default=None)
        found.sort(key=lambda step: step.increment_bytes)
        return found[len(found) // 2] if found else None

    @property
    def needed_bytes(self) -> int | None:
        """Peak of a steady call above the resident memory before the first call, with model and inputs loaded."""
        first, steady = self.step("first call"), self.step("steady call")
        if first is None or steady is None:
            return None
        return max(steady.peak_bytes - first.before.total_bytes, 0)

    @property
    def peak_bytes(self) -> int | None:
        """Peak of resident memory over all steps."""
        return max((step.peak_bytes for step in self.steps), default=None)


class MemoryCase(AnyCase, frozen=True, kw_only=True):
    """Subjects on the same inputs, each alone in a separate process."""

    fingerprint: str = ""
    """Hash of the model file and its external data; empty without a model."""
    dims: dict[str, tuple[Count, ...]] = {}
    """Sizes of every free dimension of the model; several if one session runs several sizes."""
    subjects: tuple[MemorySubject, ...] = ()
    """Subjects in the order of measurement."""


class Memory(Document, frozen=True, kw_only=True):
    """Result of `onnxperf memory`."""

    machine: Machine
    """Machine of the measurement."""
    command: str = ""
    """Command line or Python call."""
    interval_ns: Count
    """Sampling interval of the curve, in ns."""
    cases: tuple[MemoryCase, ...] = ()
    """One case per combination of sizes; if there are several, one more in which a session runs all of them."""
