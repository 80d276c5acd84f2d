"""Messages between the parent and its workers: each request declares its reply and its handler."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from operator import or_
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import Struct

from onnxperf.errors import Ending
from onnxperf.measure.packing import NO_FILES, Packed, PackedTensor, handles_in, unpack_value
from onnxperf.measure.shared import SharedFile
from onnxperf.records.base import Scalar
from onnxperf.records.lines import LineMemory
from onnxperf.records.memory import Resident, StepName
from onnxperf.records.options import Recording, SessionOptions

if TYPE_CHECKING:
    from onnxperf.measure.packing import Files

READER = "reader"
"""Instead of a runtime: a worker that reads models and runs none (`measure/reading.py`)."""
QUANTIZER = "quantizer"
"""Instead of a runtime: a worker that quantizes and compares models (`measure/quantizing.py`)."""


class ModelSubject(Struct, frozen=True, kw_only=True, tag="model"):
    """A call style on the worker's shared session, or on its own session."""

    name: str
    call: str
    model_path: str | None = None
    """Its own model: compared candidates share a worker and a thread pool, but no session."""
    executed_path: str | None = None
    """File for the executed graph of its own session."""


class FunctionSubject(Struct, frozen=True, kw_only=True, tag="function"):
    """A live user callable, called with the feeds as positional arguments."""

    name: str
    function: bytes
    """Pickled by cloudpickle in this very run and never stored."""
    check_finite: bool | None = None


class WorkerSpec(Struct, frozen=True, kw_only=True):
    """The subjects hosted by one worker, and their shared settings."""

    subjects: tuple[ModelSubject | FunctionSubject, ...]
    threads: int
    feeds: dict[str, PackedTensor]
    python: str | None = None
    """Interpreter of the worker, with its own packages [default: ours]."""
    wrapper: tuple[str, ...] = ()
    """Command prefix before the interpreter that starts the worker, such as valgrind."""
    runtime: str = "callable"
    model_label: str | None = None
    model_path: str | None = None
    session: SessionOptions = SessionOptions()
    recording: Recording | None = None
    """What the session records; all of its calls are in its trace."""
    casts: dict[str, str] = {}
    more_feeds: tuple[dict[str, PackedTensor], ...] = ()
    """Inputs of other sizes; calls cycle through `feeds` and these."""
    memory_bytes: int = 0
    """Estimated memory of the worker."""


class Reply(Struct, frozen=True, tag=True):
    """A reply from a worker."""


R = TypeVar("R", bound=Reply)


class Request(Struct, Generic[R], frozen=True, tag=True):
    """A request to a worker, with the type of its reply."""

    answered_by: ClassVar[str]
    """`module:function` in the worker. A module is imported on its first request, so that a worker that only times
    loads no profiler. The function takes the host and the request."""


class Ready(Reply, frozen=True):
    """The worker has started and imported its runtime; sent without a request."""


class Done(Reply, frozen=True):
    """The request was executed; there is nothing to send."""


class Failed(Reply, frozen=True):
    """A request raised an error; the worker can still answer others."""

    status: Ending
    reason: str
    bad_input: bool = False
    """Whether the user can correct it."""


# ---------------------------------------------------------------- set up


class Loaded(Reply, frozen=True):
    """The session is open."""

    load_ns: int | None
    conditions: dict[str, Scalar]


class Load(Request[Loaded], frozen=True):
    """Open the shared session of the subjects; the previous one is dropped first."""

    answered_by = "onnxperf.measure.worker.host:load"
    spec: WorkerSpec
    block_sizes: tuple[int, ...] = ()
    """Memory to allocate first and hold as long as the session, so that the session gets another memory layout."""


class Hold(Request[Done], frozen=True):
    """Take over a spec, copy its inputs into the worker's own memory, and load nothing yet."""

    answered_by = "onnxperf.measure.worker.host:hold"
    spec: WorkerSpec


class Prepared(Reply, frozen=True):
    """A subject made its first call."""

    first_call_ns: int
    conditions: dict[str, Scalar] = {}


class Prepare(Request[Prepared], frozen=True):
    """Bind a subject to its inputs and call it for the first time."""

    answered_by = "onnxperf.measure.worker.host:prepare"
    subject: int


class MoveTo(Request[Done], frozen=True):
    """Use only these processors from now on."""

    answered_by = "onnxperf.measure.worker.host:move"
    cpus: tuple[int, ...]


class Computed(Reply, frozen=True):
    """Outputs of a subject."""

    names: list[str]
    """Names of a model's outputs; empty for a callable."""
    value: Packed


class Compute(Request[Computed], frozen=True):
    """Call a subject and send its outputs."""

    answered_by = "onnxperf.measure.worker.host:compute"
    subject: int
    everything: bool = False
    """Also send intermediate tensors."""
    file: SharedFile | None = None
    """File for large values; without it, they are sent in the reply."""


def outputs_in(computed: Computed, files: Files = NO_FILES) -> tuple[list[str], Any]:
    """Unpacked names and values of a subject's outputs."""
    return computed.names, unpack_value(computed.value, files)


class EndedRecording(Reply, frozen=True):
    """The trace is in this file."""

    path: str


class EndRecording(Request[EndedRecording], frozen=True):
    """Write the trace."""

    answered_by = "onnxperf.measure.worker.host:end_recording"


# ---------------------------------------------------------------- time


class WarmedUp(Reply, frozen=True):
    """A subject is warm."""

    call_ns: float
    retraces: bool = False
    """Whether TensorFlow retraced its function in several calls."""


class WarmUp(Request[WarmedUp], frozen=True):
    """Call a subject untimed."""

    answered_by = "onnxperf.measure.worker.timing:answer_warm_up"
    subject: int
    duration_ns: int


class TimedBlock(Reply, frozen=True):
    """A block is done."""

    start_ns: int
    duration_ns: int
    call_ns: list[int] = []
    """Times of its calls, if each was timed."""
    quickest_ns: float | None = None
    """Time of a call in its fastest piece."""
    cpu_ns: int | None = None
    """CPU time of all threads, including pauses."""
    span_ns: int | None = None
    """Time including pauses, if any."""
    free_pieces: int | None = None
    """Number of pieces in which no thread waited for a processor, if requested and reported by the kernel."""
    calls: int | None = None
    """Number of calls, if it ended early."""


class TimeBlock(Request[TimedBlock], frozen=True):
    """Time a block of calls."""

    answered_by = "onnxperf.measure.worker.timing:answer_time_block"
    subject: int
    calls: int
    warm_ns: int
    each: bool = False
    """Also time each call, if reading the clock is negligible."""
    pieces: int = 1
    """Number of equal pieces of the block; the fastest is reported."""
    every_ns: int = 0
    """Time between the starts of consecutive calls, with a pause in between; 0 for no pauses."""
    waits: bool = False
    """Also ask the kernel, after every piece or call, how long threads waited for a processor."""
    longest_ns: int = 0
    """A block that takes longer ends after the current piece or call; 0 for no limit."""


class TimedEach(Reply, frozen=True):
    """Single calls are done."""

    call_ns: list[int]
    waited_ns: list[int] = []
    """Total time that threads waited for a processor in each call, if requested and reported by the kernel."""


class TimeEach(Request[TimedEach], frozen=True):
    """Time calls one by one."""

    answered_by = "onnxperf.measure.worker.timing:answer_time_each"
    subject: int
    calls: int
    warm_ns: int | None
    """Duration of the untimed calls before; None for no other calls at all, as in a trace."""
    waits: bool = False
    """Also ask the kernel after every call how long threads waited for a processor."""


class TimedSplit(Reply, frozen=True):
    """Times of the parts of every call; empty for a plain callable, which cannot be divided."""

    prepare_ns: list[int]
    compute_ns: list[int]
    fetch_ns: list[int]


class SplitEach(Request[TimedSplit], frozen=True):
    """Time the parts of single calls: preparing, computing, fetching."""

    answered_by = "onnxperf.measure.worker.timing:answer_split_each"
    subject: int
    calls: int
    warm_ns: int


class MovedBytes(Reply, frozen=True):
    """Arrays were moved."""

    gb_per_s: list[float]
    """GB per second, read and written, for each size."""
    free: list[bool]
    """For each size, whether there was a round in which no thread waited for a processor."""


class MoveBytes(Request[MovedBytes], frozen=True):
    """Read and write arrays with several threads at full speed; needs no session."""

    answered_by = "onnxperf.measure.worker.bandwidth:answer_move"
    threads: int
    sizes: tuple[int, ...]
    """Total bytes of the arrays of all threads."""
    duration_ns: int
    """Duration for each size."""
    patience: int = 1
    """Maximum repetitions for a size without any round undisturbed by other programs."""


# ---------------------------------------------------------------- instructions


class Counted(Reply, frozen=True):
    """The counts are in callgrind's files."""

    instruction_set: str
    """The widest instruction set of the processor shown by valgrind."""


class CountInstructions(Request[Counted], frozen=True):
    """Call a subject while callgrind counts; the worker runs under valgrind."""

    answered_by = "onnxperf.measure.worker.instructions:answer_count"
    subject: int
    calls: int
    warm: int
    """Number of warm-up calls."""
    library: str
    """The compiled requests to valgrind."""


# ---------------------------------------------------------------- memory


class Mark(Struct, frozen=True):
    """Memory of one step."""

    before: Resident
    after: Resident
    peak_bytes: int | None
    """None if the kernel cannot reset its high-water mark."""
    start_ns: int
    duration_ns: int


class ProbedStep(Reply, frozen=True):
    """A step was executed; without a mark there is no such step, as when loading a plain callable."""

    mark: Mark | None
    conditions: dict[str, Scalar] = {}
    output_bytes: int | None = None
    """Size of the outputs of a call, if known."""


class ProbeStep(Request[ProbedStep], frozen=True):
    """Execute a step of the first subject and measure its memory."""

    answered_by = "onnxperf.measure.worker.memory_probe:probe_step"
    step: StepName


class CalledMany(Reply, frozen=True):
    """Resident memory after many calls."""

    resident: Resident


class CallMany(Request[CalledMany], frozen=True):
    """Call the first subject many times and measure the memory that remains in use."""

    answered_by = "onnxperf.measure.worker.memory_probe:call_many"
    calls: int


class TracedLines(Reply, frozen=True, kw_only=True):
    """Memory between the lines of a called function."""

    function: str
    file: str
    first_line: int
    texts: list[str]
    """Source lines of the function; empty if the worker cannot read them."""
    lines: list[LineMemory]
    """The executed lines, without their text."""
    start_bytes: int
    end_bytes: int
    exact: bool
    error: str
    """Error that ended the function; empty if it returned."""
    error_line: int | None


class TraceLines(Request[TracedLines], frozen=True):
    """Call a user function once and measure the memory of each of its lines."""

    answered_by = "onnxperf.measure.worker.lines:answer_trace_lines"
    subject: int


class TrackAllocations(Request[Done], frozen=True):
    """Call a subject while memray records its allocations."""

    answered_by = "onnxperf.measure.worker.allocations:track_allocations"
    subject: int
    calls: int
    path: str
    """Output file; it must not exist yet."""


# ---------------------------------------------------------------- stacks


class SampledStack(Reply, frozen=True):
    """The samples are taken."""

    session: bytes
    """pyinstrument's session in JSON."""


class SampleStack(Request[SampledStack], frozen=True):
    """Call a subject while its Python stack is sampled."""

    answered_by = "onnxperf.measure.worker.python_stack:sample_stack"
    subject: int
    calls: int
    interval_s: float


class CalledFor(Reply, frozen=True):
    """The time is over."""

    calls: int


class CallFor(Request[CalledFor], frozen=True):
    """Call a subject for some time while another program watches."""

    answered_by = "onnxperf.measure.worker.python_stack:answer_call_for"
    subject: int
    duration_ns: int


# ---------------------------------------------------------------- bytes


def handles_of(request: Request[Any]) -> list[int]:
    """Open files that belong to a request, as file descriptors of the parent; they are sent after it, in this order."""
    if isinstance(request, Compute):
        return [] if request.file is None else [request.file.handle]
    spec = getattr(request, "spec", None)
    return handles_in((spec.feeds, *spec.more_feeds)) if isinstance(spec, WorkerSpec) else []


def decoder_of(base: type[Struct]) -> Callable[[bytes | bytearray], Any]:
    """Decoder of a number and any message type derived from `base`; it rejects everything else."""
    kinds = reduce(or_, base.__subclasses__())
    return msgspec.msgpack.Decoder(GenericAlias(tuple, (int, kinds))).decode


encode = msgspec.msgpack.Encoder().encode
"""Messages are sent as (number, message); a reply has the number of its request."""


@cache
def _decoder(base: type[Struct], _kinds: int) -> Callable[[bytes | bytearray], Any]:
    """Built on the first message: neither side needs the other's decoder, and workers must start fast.

    Rebuilt if a module has defined more messages since then.
    """
    return decoder_of(base)


def decode_request(data: bytes | bytearray) -> tuple[int, Request[Any]]:
    """Decode a request and its number."""
    found: tuple[int, Request[Any]] = _decoder(Request, len(Request.__subclasses__()))(data)
    return found


def decode_reply(data: bytes) -> tuple[int, Reply]:
    """Decode a reply and the number of its request."""
    found: tuple[int, Reply] = _decoder(Reply, len(Reply.__subclasses__()))(data)
    return found
