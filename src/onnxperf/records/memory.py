"""What a subject costs in memory: peaks of each step, what stays, how it grows, and where the bytes are."""

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
    """The pages of a process that are in memory at one moment."""

    anonymous_bytes: Count
    """What the process wrote itself: heap, arrays, arenas."""
    file_bytes: Count
    """Pages of files: libraries, a model that is mapped; the kernel can drop and read them again."""

    @property
    def total_bytes(self) -> int:
        """Both kinds together."""
        return self.anonymous_bytes + self.file_bytes


class MemoryStep(Struct, frozen=True, kw_only=True):
    """Loading, the first call, or a steady call; the high-water mark was reset just before it."""

    name: StepName
    """Which step."""
    before: Resident
    """Resident before it began."""
    peak_bytes: Count
    """The most that was resident while it ran."""
    after: Resident
    """Resident when it was done, its result dropped; what stays is after - before."""
    exact: bool
    """True: the kernel's high-water mark; False: the highest sample, which misses short spikes."""
    duration_ns: Count
    """How long it took."""

    @property
    def increment_bytes(self) -> int:
        """Peak above what was resident before."""
        return max(self.peak_bytes - self.before.total_bytes, 0)

    @property
    def kept_bytes(self) -> int:
        """What stayed resident; below 0 when memory was given back."""
        return self.after.total_bytes - self.before.total_bytes


class Growth(Struct, frozen=True, kw_only=True):
    """Resident memory over many calls."""

    kind: GrowthKind
    """none; leak: with every call; arena: onnxruntime's arena grew; step: grew once; settling: grew, and stopped."""
    bytes_per_call: Signed
    """Median slope between the points; of an arena that grows throughout, the growth divided by the calls, else 0."""
    step_calls: Count | None = None
    """Where it grew in a single step: calls made before that."""
    step_bytes: Count | None = None
    """What was added in that step."""
    calls: tuple[Count, ...]
    """Calls made before each point."""
    resident_bytes: tuple[Count, ...]
    """Anonymous memory at each point."""


class InputCopy(Struct, frozen=True, kw_only=True):
    """An input that is copied on its way in, in every call."""

    name: str
    """Input of the model."""
    reason: CopyReason
    """cast: it has another type; layout: it is not contiguous."""
    from_type: str
    """Type as given."""
    to_type: str
    """Type that the model needs."""
    copied_bytes: Count
    """Size of the copy."""


class LiveTensor(Struct, frozen=True, kw_only=True):
    """A tensor that is needed while a node runs."""

    name: str
    """Its name in the graph that is executed."""
    size_bytes: Count
    """Its size."""
    role: TensorRole
    """input, intermediate or output."""
    within: str = ""
    """Tensor in whose memory it may lie, as a view or written over it: then only that one counts."""


class Breakdown(Struct, frozen=True, kw_only=True):
    """Where the bytes of a model go."""

    dims: dict[str, Count] = {}
    """Sizes at which inputs, copies, outputs and tensors were counted: of several, the largest."""
    weights_on_disk_bytes: Count
    """Initialisers in the file and its external data."""
    weights_in_memory_bytes: Count | None = None
    """Initialisers of the graph that is executed, after constants were folded."""
    input_bytes: Count
    """Arrays that one call reads."""
    output_bytes: Count | None = None
    """Arrays that one call returns."""
    copies: tuple[InputCopy, ...] = ()
    """Copies made of inputs in every call."""
    arena_held_bytes: Count | None = None
    """What onnxruntime's arena took from the system, at its largest."""
    arena_used_bytes: Count | None = None
    """What of it was in use, at its largest; weights that a kernel packed are in it."""
    planned_bytes: Count | None = None
    """The least that intermediate results and outputs need: the largest live set over the nodes."""
    unexplained_bytes: Count | None = None
    """What of the need is neither the planned minimum nor a copy; null where that is small."""
    peak_node: str = ""
    """Node at which the most is alive."""
    peak_op: str = ""
    """Its operator type."""
    alive: tuple[LiveTensor, ...] = ()
    """Tensors that are alive there, the largest first."""


class ArenaTrial(Struct, frozen=True, kw_only=True):
    """The same subject with another setting of onnxruntime's arena, alone in a process of its own."""

    setting: ArenaSetting
    """off, same-as-requested (its extend strategy) or shrinkage (after each call)."""
    needed_bytes: Count | None
    """What it needed; null where it could not be measured."""
    steady_ns: Count | None = None
    """Time of a steady call, roughly: the median of a few."""


class MemorySubject(AnySubject, frozen=True, kw_only=True):
    """One row: a subject, and what it needed."""

    sizes: Count = 1
    """How many sizes of inputs its calls met in turn."""
    steps: tuple[MemoryStep, ...] = ()
    """Loading (not for a plain callable), the first call, and every steady call."""
    growth: Growth | None = None
    """Resident memory over many calls."""
    started_s: UnixTime = 0.0
    """Unix time of the first sample."""
    sample_ns: tuple[Count, ...] = ()
    """Times of the samples after `started_s`."""
    sample_bytes: tuple[Count, ...] = ()
    """Resident memory at those times."""
    step_ns: tuple[Count, ...] = ()
    """When each of `steps` began, on the clock of the samples."""
    breakdown: Breakdown | None = None
    """Where the bytes of a model go."""
    trials: tuple[ArenaTrial, ...] = ()
    """What other settings of the arena would need, where much of the need is unexplained."""

    def step(self, name: StepName) -> MemoryStep | None:
        """A step by its name; of the steady calls the one in the middle, or with several sizes the largest."""
        found = [step for step in self.steps if step.name == name]
        if self.sizes > 1:
            return max(found, key=lambda step: step.peak_bytes, default=None)
        found.sort(key=lambda step: step.increment_bytes)
        return found[len(found) // 2] if found else None

    @property
    def needed_bytes(self) -> int | None:
        """The peak of a steady call above what was resident before the first call, when model and inputs were there."""
        first, steady = self.step("first call"), self.step("steady call")
        if first is None or steady is None:
            return None
        return max(steady.peak_bytes - first.before.total_bytes, 0)

    @property
    def peak_bytes(self) -> int | None:
        """The most that was resident in any step."""
        return max((step.peak_bytes for step in self.steps), default=None)


class MemoryCase(AnyCase, frozen=True, kw_only=True):
    """Subjects on the same inputs, each alone in a process of its own."""

    fingerprint: str = ""
    """Hash of the model's file and its external data, if there is a model."""
    dims: dict[str, tuple[Count, ...]] = {}
    """Sizes of every dimension that was free in the model; several where one session met several."""
    subjects: tuple[MemorySubject, ...] = ()
    """In the order in which they were measured."""


class Memory(Document, frozen=True, kw_only=True):
    """What `onnxperf memory` found."""

    machine: Machine
    """Where it was measured."""
    command: str = ""
    """The command line, or the call in Python."""
    interval_ns: Count
    """Time between two samples of the curve."""
    cases: tuple[MemoryCase, ...] = ()
    """One per combination of sizes; where there are several, one more in which a session gets them all."""
