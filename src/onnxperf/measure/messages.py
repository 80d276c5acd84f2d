"""The language of the parent and its workers: each request declares its reply and the function that answers it."""

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
"""In place of a runtime: a worker that reads models and runs none (`measure/reading.py`)."""
QUANTIZER = "quantizer"
"""In place of a runtime: a worker that quantises models and compares them (`measure/quantizing.py`)."""


class ModelSubject(Struct, frozen=True, kw_only=True, tag="model"):
    """A call style on the session that its worker shares, or on one of its own."""

    name: str
    call: str
    model_path: str | None = None
    """A model of its own: candidates that are compared share a worker and a thread pool, but no session."""
    executed_path: str | None = None
    """File for the graph that its own session executes."""


class FunctionSubject(Struct, frozen=True, kw_only=True, tag="function"):
    """A live callable of the user, called with the feeds as positional arguments."""

    name: str
    function: bytes
    """Pickled by cloudpickle in this very run, and never stored."""
    check_finite: bool | None = None


class WorkerSpec(Struct, frozen=True, kw_only=True):
    """The subjects that one worker hosts, and what they share."""

    subjects: tuple[ModelSubject | FunctionSubject, ...]
    threads: int
    feeds: dict[str, PackedTensor]
    python: str | None = None
    """Interpreter of the worker, with packages of its own; ours unless given."""
    wrapper: tuple[str, ...] = ()
    """What stands before the interpreter in the command that starts the worker, such as valgrind."""
    runtime: str = "callable"
    model_label: str | None = None
    model_path: str | None = None
    session: SessionOptions = SessionOptions()
    recording: Recording | None = None
    """What the session records of itself; every one of its calls is in its trace."""
    casts: dict[str, str] = {}
    more_feeds: tuple[dict[str, PackedTensor], ...] = ()
    """Inputs of other sizes; calls take them in turn after `feeds`."""
    memory_bytes: int = 0
    """Estimate of what the worker will hold."""


class Reply(Struct, frozen=True, tag=True):
    """What a worker answers."""


R = TypeVar("R", bound=Reply)


class Request(Struct, Generic[R], frozen=True, tag=True):
    """What a worker is asked for, with the type of its reply."""

    answered_by: ClassVar[str]
    """`module:function` in the worker; a module is imported with its first request, so that a worker that only times
    loads no profiler. The function takes the host and the request."""


class Ready(Reply, frozen=True):
    """The worker has started and imported its runtime; not requested."""


class Done(Reply, frozen=True):
    """The request was carried out, and there is nothing to send."""


class Failed(Reply, frozen=True):
    """A request raised an error; the worker can answer others."""

    status: Ending
    reason: str
    bad_input: bool = False
    """The user can correct it."""


# ---------------------------------------------------------------- set up


class Loaded(Reply, frozen=True):
    """The session is open."""

    load_ns: int | None
    conditions: dict[str, Scalar]


class Load(Request[Loaded], frozen=True):
    """Open the session that the subjects share; what was loaded before is dropped first."""

    answered_by = "onnxperf.measure.worker.host:load"
    spec: WorkerSpec
    block_sizes: tuple[int, ...] = ()
    """Memory to take before, and to hold as long as the session, so that it lies elsewhere than the one before."""


class Hold(Request[Done], frozen=True):
    """Take over a spec and its inputs, these in memory of the worker's own, and load nothing yet."""

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
    """Use these processors from now on, and no others."""

    answered_by = "onnxperf.measure.worker.host:move"
    cpus: tuple[int, ...]


class Computed(Reply, frozen=True):
    """What a subject returned."""

    names: list[str]
    """Names of the values of a model; none for a callable."""
    value: Packed


class Compute(Request[Computed], frozen=True):
    """Call a subject and send what it returns."""

    answered_by = "onnxperf.measure.worker.host:compute"
    subject: int
    everything: bool = False
    """Also what lies between inputs and outputs."""
    file: SharedFile | None = None
    """Where large values go; without it, they travel in the reply."""


def outputs_in(computed: Computed, files: Files = NO_FILES) -> tuple[list[str], Any]:
    """Names and values that a subject returned, unpacked."""
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
    """TensorFlow traced its function again in call after call."""


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
    """Times of its calls, where each was timed."""
    quickest_ns: float | None = None
    """Time of a call in the quickest of its pieces."""
    cpu_ns: int | None = None
    """CPU time of all threads meanwhile, pauses included."""
    span_ns: int | None = None
    """Time with all pauses, where there were some."""
    free_pieces: int | None = None
    """Pieces in which no thread waited for a processor, where that was requested and the kernel tells."""
    calls: int | None = None
    """How many calls it had, where it ended early."""


class TimeBlock(Request[TimedBlock], frozen=True):
    """Time calls together."""

    answered_by = "onnxperf.measure.worker.timing:answer_time_block"
    subject: int
    calls: int
    warm_ns: int
    each: bool = False
    """Also each call by itself, where reading the clock costs nothing beside it."""
    pieces: int = 1
    """Parts of the block, as equal as can be, of which the quickest is reported."""
    every_ns: int = 0
    """From the start of a call to that of the next, with a pause in between; 0 means without pauses."""
    waits: bool = False
    """Also ask the kernel after every piece, or call, how long threads waited for a processor."""
    longest_ns: int = 0
    """A block that takes longer ends after the piece, or call, that it is in; 0 means never."""


class TimedEach(Reply, frozen=True):
    """Single calls are done."""

    call_ns: list[int]
    waited_ns: list[int] = []
    """How long threads together waited for a processor in each, where that was requested and the kernel tells."""


class TimeEach(Request[TimedEach], frozen=True):
    """Time calls one by one."""

    answered_by = "onnxperf.measure.worker.timing:answer_time_each"
    subject: int
    calls: int
    warm_ns: int | None
    """Duration of the untimed calls before; None means that there are no others, as in a trace."""
    waits: bool = False
    """Also ask the kernel after every call how long threads waited for a processor."""


class TimedSplit(Reply, frozen=True):
    """The parts of every call; none of a plain callable, which cannot be divided."""

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
    """Billions of bytes a second that were read and written, for each of the sizes."""
    free: list[bool]
    """Whether there was a round of this size in which no thread waited for a processor."""


class MoveBytes(Request[MovedBytes], frozen=True):
    """Read and write arrays with several threads, as fast as they can; needs no session."""

    answered_by = "onnxperf.measure.worker.bandwidth:answer_move"
    threads: int
    sizes: tuple[int, ...]
    """Bytes of all arrays of all threads together."""
    duration_ns: int
    """For each size."""
    patience: int = 1
    """Times as long for a size of which no round was free of other programs."""


# ---------------------------------------------------------------- instructions


class Counted(Reply, frozen=True):
    """The counts are in the files of callgrind."""

    instruction_set: str
    """The widest that the processor has which valgrind shows."""


class CountInstructions(Request[Counted], frozen=True):
    """Call a subject while callgrind counts; the worker runs under valgrind."""

    answered_by = "onnxperf.measure.worker.instructions:answer_count"
    subject: int
    calls: int
    warm: int
    """Calls before those."""
    library: str
    """The compiled requests to valgrind."""


# ---------------------------------------------------------------- memory


class Mark(Struct, frozen=True):
    """What one step needed."""

    before: Resident
    after: Resident
    peak_bytes: int | None
    """None where the kernel cannot reset its high-water mark."""
    start_ns: int
    duration_ns: int


class ProbedStep(Reply, frozen=True):
    """A step was taken; no mark means that there is no such step, as with loading a plain callable."""

    mark: Mark | None
    conditions: dict[str, Scalar] = {}
    output_bytes: int | None = None
    """Size of what a call returned, where it is known."""


class ProbeStep(Request[ProbedStep], frozen=True):
    """Take a step of the first subject, and measure what memory it needs."""

    answered_by = "onnxperf.measure.worker.memory_probe:probe_step"
    step: StepName


class CalledMany(Reply, frozen=True):
    """Many calls were made, and this is resident afterwards."""

    resident: Resident


class CallMany(Request[CalledMany], frozen=True):
    """Call the first subject often, and measure what memory is left in use."""

    answered_by = "onnxperf.measure.worker.memory_probe:call_many"
    calls: int


class TracedLines(Reply, frozen=True, kw_only=True):
    """A function was called, and memory read between its lines."""

    function: str
    file: str
    first_line: int
    texts: list[str]
    """The lines of the function; empty where the worker cannot read them."""
    lines: list[LineMemory]
    """Those that ran, without their text."""
    start_bytes: int
    end_bytes: int
    exact: bool
    error: str
    """What ended the function; empty where it returned."""
    error_line: int | None


class TraceLines(Request[TracedLines], frozen=True):
    """Call a function of the user once, and measure what memory each of its lines needs."""

    answered_by = "onnxperf.measure.worker.lines:answer_trace_lines"
    subject: int


class TrackAllocations(Request[Done], frozen=True):
    """Call a subject while memray records the memory that is taken."""

    answered_by = "onnxperf.measure.worker.allocations:track_allocations"
    subject: int
    calls: int
    path: str
    """File to write; it does not exist yet."""


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
    """Call a subject for some time, while another program watches."""

    answered_by = "onnxperf.measure.worker.python_stack:answer_call_for"
    subject: int
    duration_ns: int


# ---------------------------------------------------------------- bytes


def handles_of(request: Request[Any]) -> list[int]:
    """Open files that go with a request, by their numbers in the parent; they are sent after it, in this order."""
    if isinstance(request, Compute):
        return [] if request.file is None else [request.file.handle]
    spec = getattr(request, "spec", None)
    return handles_in((spec.feeds, *spec.more_feeds)) if isinstance(spec, WorkerSpec) else []


def decoder_of(base: type[Struct]) -> Callable[[bytes | bytearray], Any]:
    """Decodes a number and any of the messages derived from `base`; refuses everything else."""
    kinds = reduce(or_, base.__subclasses__())
    return msgspec.msgpack.Decoder(GenericAlias(tuple, (int, kinds))).decode


encode = msgspec.msgpack.Encoder().encode
"""Messages travel as (number, message); a reply bears the number of its request."""


@cache
def _decoder(base: type[Struct], _kinds: int) -> Callable[[bytes | bytearray], Any]:
    """Made with the first message: neither side needs that of the other, and a worker has to start fast.

    Made again where a module brought more messages since then.
    """
    return decoder_of(base)


def decode_request(data: bytes | bytearray) -> tuple[int, Request[Any]]:
    """A request with its number."""
    found: tuple[int, Request[Any]] = _decoder(Request, len(Request.__subclasses__()))(data)
    return found


def decode_reply(data: bytes) -> tuple[int, Reply]:
    """A reply with the number of its request."""
    found: tuple[int, Reply] = _decoder(Reply, len(Reply.__subclasses__()))(data)
    return found
