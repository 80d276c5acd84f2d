"""What was requested: how sessions are set up, inputs made and subjects raced."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.timeouts import TIMEOUT_S

OptLevel = Literal["disable", "basic", "extended", "layout", "all"]
ArenaSetting = Literal["default", "off", "same-as-requested", "shrinkage"]
ExecutionMode = Literal["sequential", "parallel"]
ExecutionOrder = Literal["default", "priority-based", "memory-efficient"]


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How a runtime is set up."""

    threads: int | None = None
    """Threads of every subject; None means all usable cores, and is made a number before anything starts."""
    provider: str = "cpu"
    """Execution provider: cpu, cuda… or onnxruntime's own name."""
    opt_level: OptLevel = "all"
    """Graph optimisation level of onnxruntime."""
    options: dict[str, str] = {}
    """Any session config entry of onnxruntime."""
    arena: ArenaSetting = "default"
    """How onnxruntime's arena takes memory: not at all, no more than requested, or given back after each call."""
    inter_op_threads: int = 1
    """Threads that run nodes side by side; they have work only with the execution mode `parallel`."""
    execution_mode: ExecutionMode = "sequential"
    """Whether nodes may run side by side."""
    execution_order: ExecutionOrder = "default"
    """The order in which onnxruntime runs nodes that do not depend on each other."""
    mem_pattern: bool = True
    """Plan the memory of a call from the one before with the same shapes."""
    mem_reuse: bool = True
    """Give the memory of a tensor that is no longer needed to the next one."""
    deterministic: bool = False
    """Use only kernels whose results do not change from call to call."""
    disabled_optimizers: tuple[str, ...] = ()
    """Graph optimisers of onnxruntime that are left out, by their names."""
    fixed_dims: dict[str, int] = {}
    """Sizes of symbolic dimensions that are fixed when the session is opened, so that more can be optimised."""
    provider_options: dict[str, str] = {}
    """Options of the execution provider."""
    run_options: dict[str, str] = {}
    """Any run config entry of onnxruntime."""
    custom_ops: tuple[str, ...] = ()
    """Libraries of custom operators, which run code of their own: only those named by hand."""
    env: str = ""
    """Environment of the worker as it was requested; empty means the interpreter of onnxperf."""
    shared_pool: bool = False
    """All sessions of a process use one thread pool, so that idle ones cannot spin against the one at work."""


class Recording(Struct, frozen=True, kw_only=True):
    """What a session records about itself."""

    trace_prefix: str | None = None
    """Start of the trace's file name, folder included; None: no trace."""
    executed_path: str | None = None
    """File for the graph that is really executed, after all optimisations; None: it is not written."""
    smallest_external_bytes: int = 1024
    """Weights of at least this size go into a file beside that graph, `.data` appended to its name."""


class InputOptions(Struct, frozen=True, kw_only=True):
    """How inputs are made where none are given."""

    seed: int = 0
    """Seed of the random inputs."""
    dims: dict[str, int] = {}
    """Sizes by symbolic name ("batch") or by input and axis ("X.0")."""
    batch: int | None = None
    """Size of the batch dimension, whatever its name is."""
    shapes: dict[str, tuple[int, ...]] = {}
    """Whole shapes by input name."""
    ranges: dict[str, tuple[float, float]] = {}
    """Smallest and largest value by input name, both included."""
    cast: bool = False
    """Cast given inputs to the model's types inside the timed call."""


class RaceOptions(Struct, frozen=True, kw_only=True):
    """How subjects are measured and compared."""

    baseline: str | None = None
    """Name of the subject that the others are compared with; the first unless named."""
    time: float | None = None
    """Seconds after the first start; None means 9, or more where five launches or 20 rounds need more."""
    min_effect: float = 0.01
    """Smallest relative difference that matters."""
    warmup: float = 0.1
    """Seconds of untimed calls before a subject's first block; later launches have a tenth of it."""
    blocks: int | None = None
    """Rounds, fixed by hand."""
    calls_per_block: int | None = None
    """Calls per block, fixed by hand."""
    seed: int = 0
    """Seed of the order of the subjects."""
    split: bool = False
    """Also time what calls are made of: preparing inputs, computing, fetching outputs."""
    every: float | None = None
    """Seconds from the start of a call to that of the next, with a pause in between; None means without pauses."""
    count: str | None = None
    """Also count after the race: `instructions`."""
    alpha_share: float = 1.0
    """Part of the error probability that this race may use; less than 1 where it is one of several."""
    max_slowdown: float | None = None
    """Slow-down that is to be decided, instead of verdicts: the race ends when all intervals exclude it."""


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """What a worker may take before it is ended."""

    timeout: float = TIMEOUT_S
    """Seconds that one step of a worker (loading, a block) may take."""
    memory_limit: int | None = None
    """Bytes of resident memory that a worker may need; one that needs more is ended as `oom`."""


class SourceOptions(Struct, frozen=True, kw_only=True):
    """How the source of a model is called."""

    device: str = "cpu"
    """Where torch and TensorFlow run: cpu, cuda."""
    check_finite: bool | None = None
    """Whether scikit-learn checks its inputs for NaN and infinity; None leaves that as it is set."""


class Tolerances(Struct, frozen=True, kw_only=True):
    """What counts as equal, and which outputs belong together."""

    rtol: float = 1e-3
    """Relative tolerance when the outputs of a model and its source are compared."""
    atol: float = 1e-5
    """Absolute tolerance."""
    match: dict[str, str | int] = {}
    """Output of the model -> name or place of the source's output; by name, else by order, unless given."""
    check: bool = True
    """Compare the outputs of subjects that race each other; False where they are meant to differ."""


class Signature(Struct, frozen=True, kw_only=True):
    """One input or output as a model declares it."""

    name: str
    """Its name in the graph."""
    kind: Literal["tensor", "sequence", "map", "optional", "sparse"] = "tensor"
    """What kind of value it is."""
    dtype: str = "float32"
    """Numpy's name of the element type (ml_dtypes' for bfloat16, float8… and int4), or "string"."""
    shape: tuple[int | str | None, ...] | None = None
    """A size, a symbolic name or None for each axis; None altogether when even the rank is unknown."""
