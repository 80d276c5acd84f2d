"""What the parent and its workers say to each other, encoded as MessagePack with a type tag."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from onnxperf.errors import Ending
from onnxperf.measure.packing import Packed, Tensor
from onnxperf.records import Recording, Resident, Scalar, SessionOptions, StepName
from onnxperf.records.lines import LineMemory


class ModelSubject(Struct, frozen=True, kw_only=True, tag="model"):
    """A call style on the session that its spec shares, or on one of its own."""

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
    """Written by cloudpickle in this very run, and never stored."""
    check_finite: bool = False


class WorkerSpec(Struct, frozen=True, kw_only=True):
    """The subjects that one worker hosts, and what they share."""

    subjects: tuple[ModelSubject | FunctionSubject, ...]
    threads: int
    feeds: dict[str, Tensor]
    runtime: str = "callable"
    model_label: str | None = None
    model_path: str | None = None
    session: SessionOptions = SessionOptions()
    recording: Recording | None = None
    """What the session writes down about itself; every one of its calls is in its trace."""
    casts: dict[str, str] = {}
    more_feeds: tuple[dict[str, Tensor], ...] = ()
    """Inputs of other sizes, which its calls take in turn after `feeds`."""
    memory_bytes: int = 0
    """Estimate of what the worker will hold."""


class Load(Struct, frozen=True, tag="load"):
    """Open the session that the spec shares."""

    spec: WorkerSpec


class Prepare(Struct, frozen=True, tag="prepare"):
    """Bind a subject to its inputs and call it for the first time."""

    subject: int


class WarmUp(Struct, frozen=True, tag="warm-up"):
    """Call a subject untimed."""

    subject: int
    duration_ns: int


class TimeBlock(Struct, frozen=True, tag="time-block"):
    """Time calls together."""

    subject: int
    calls: int
    warm_ns: int


class TimeEach(Struct, frozen=True, tag="time-each"):
    """Time calls one by one."""

    subject: int
    calls: int
    warm_ns: int


class CallEach(Struct, frozen=True, tag="call-each"):
    """Time calls one by one, and make no others."""

    subject: int
    calls: int


class EndRecording(Struct, frozen=True, tag="end-recording"):
    """Write the trace."""


class MoveTo(Struct, frozen=True, tag="move-to"):
    """Use these processors from now on, and no others."""

    cpus: tuple[int, ...]


class Moved(Struct, frozen=True, tag="moved"):
    """All threads of the worker are where they were asked to be."""


class Compute(Struct, frozen=True, tag="compute"):
    """Call a subject and send what it returns."""

    subject: int
    everything: bool = False
    """Also what lies between inputs and outputs."""


class SplitEach(Struct, frozen=True, tag="split-each"):
    """Time the parts of single calls: preparing, computing, fetching."""

    subject: int
    calls: int
    warm_ns: int


class Hold(Struct, frozen=True, tag="hold"):
    """Take over a spec and its inputs, and load nothing yet."""

    spec: WorkerSpec


class ProbeStep(Struct, frozen=True, tag="probe"):
    """Take a step of the first subject, and tell what memory it needed."""

    step: StepName


class CallMany(Struct, frozen=True, tag="call_many"):
    """Call the first subject often, and tell what memory is left in use."""

    calls: int


class TraceLines(Struct, frozen=True, tag="trace-lines"):
    """Call a function of the user once, and tell what memory each of its lines needs."""

    subject: int


class SampleStack(Struct, frozen=True, tag="sample-stack"):
    """Call a subject while its Python stack is sampled."""

    subject: int
    calls: int
    interval_s: float


class CallFor(Struct, frozen=True, tag="call-for"):
    """Call a subject for a while, for others to watch."""

    subject: int
    duration_ns: int


class TrackAllocations(Struct, frozen=True, tag="track-allocations"):
    """Call a subject while memray writes down the memory that is taken."""

    subject: int
    calls: int
    path: str
    """File to write; there is none of this name yet."""


class Ready(Struct, frozen=True, tag="ready"):
    """The worker has started and imported its runtime."""


class Loaded(Struct, frozen=True, tag="loaded"):
    """The session is open."""

    load_ns: int | None
    conditions: dict[str, Scalar]


class Prepared(Struct, frozen=True, tag="prepared"):
    """A subject made its first call."""

    first_call_ns: int
    conditions: dict[str, Scalar] = {}


class Computed(Struct, frozen=True, tag="computed"):
    """What a subject returned."""

    names: list[str]
    """Names of the values of a model; none for a callable."""
    value: Packed


class WarmedUp(Struct, frozen=True, tag="warmed-up"):
    """A subject is warm."""

    call_ns: float


class TimedBlock(Struct, frozen=True, tag="timed-block"):
    """A block is done."""

    start_ns: int
    duration_ns: int


class TimedEach(Struct, frozen=True, tag="timed-each"):
    """Single calls are done."""

    call_ns: list[int]


class TimedSplit(Struct, frozen=True, tag="timed-split"):
    """The parts of every call; none of a plain callable, which cannot be divided."""

    prepare_ns: list[int]
    compute_ns: list[int]
    fetch_ns: list[int]


class Recorded(Struct, frozen=True, tag="recorded"):
    """The trace is written."""

    path: str


class Held(Struct, frozen=True, tag="held"):
    """The inputs are there."""


class Mark(Struct, frozen=True, tag="mark"):
    """What one step needed."""

    before: Resident
    after: Resident
    peak_bytes: int | None
    """None where the kernel cannot reset its high-water mark."""
    start_ns: int
    duration_ns: int


class ProbedStep(Struct, frozen=True, tag="probed"):
    """A step was taken; no mark means that there is no such step, as with loading a plain callable."""

    mark: Mark | None
    conditions: dict[str, Scalar] = {}
    output_bytes: int | None = None
    """Size of what a call returned, where it can be told."""


class CalledMany(Struct, frozen=True, tag="called"):
    """Many calls were made."""

    resident: Resident


class TracedLines(Struct, frozen=True, kw_only=True, tag="traced-lines"):
    """A function was called, and memory read between its lines."""

    function: str
    file: str
    first_line: int
    texts: list[str]
    """The function as it is written; empty where the worker cannot read it."""
    lines: list[LineMemory]
    """Those that ran, without their text."""
    start_bytes: int
    end_bytes: int
    exact: bool
    error: str
    """What ended the function; empty where it came to its end."""
    error_line: int | None


class SampledStack(Struct, frozen=True, tag="sampled-stack"):
    """The samples are taken."""

    session: bytes
    """As pyinstrument writes it, in JSON."""


class CalledFor(Struct, frozen=True, tag="called-for"):
    """The while is over."""

    calls: int


class TrackedAllocations(Struct, frozen=True, tag="tracked-allocations"):
    """The memory is written down."""

    path: str


class Failed(Struct, frozen=True, tag="failed"):
    """What was asked raised an error; the worker lives on."""

    status: Ending
    reason: str
    bad_input: bool = False
    """The user can mend it."""


TimingRequest = WarmUp | TimeBlock | TimeEach | CallEach
Request = (
    SplitEach
    | SampleStack
    | CallFor
    | TrackAllocations
    | TraceLines
    | Hold
    | ProbeStep
    | CallMany
    | Load
    | Prepare
    | Compute
    | MoveTo
    | EndRecording
    | TimingRequest
)
Reply = (
    TimedSplit
    | SampledStack
    | CalledFor
    | TrackedAllocations
    | TracedLines
    | Held
    | ProbedStep
    | CalledMany
    | Ready
    | Moved
    | Computed
    | Loaded
    | Prepared
    | WarmedUp
    | TimedBlock
    | TimedEach
    | Recorded
    | Failed
)

encode = msgspec.msgpack.Encoder().encode
decode_request = msgspec.msgpack.Decoder(Request).decode
decode_reply = msgspec.msgpack.Decoder(Reply).decode
