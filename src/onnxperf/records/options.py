"""Requested options: how sessions are set up, inputs generated and subjects raced."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.timeouts import TIMEOUT_S

OptLevel = Literal["disable", "basic", "extended", "layout", "all"]
ArenaSetting = Literal["default", "off", "same-as-requested", "shrinkage"]
ExecutionMode = Literal["sequential", "parallel"]
ExecutionOrder = Literal["default", "priority-based", "memory-efficient"]


class SessionOptions(Struct, frozen=True, kw_only=True):
    """Settings of a runtime."""

    threads: int | None = None
    """Threads per subject; null means all usable cores and is replaced by a number before anything starts."""
    provider: str = "cpu"
    """Execution provider: cpu, cuda… or its onnxruntime name."""
    opt_level: OptLevel = "all"
    """Graph optimization level of onnxruntime."""
    options: dict[str, str] = {}
    """Session config entries of onnxruntime."""
    arena: ArenaSetting = "default"
    """Memory arena of onnxruntime: default, off, extended only as requested, or shrunk after each call."""
    inter_op_threads: int = 1
    """Threads that run nodes in parallel; used only with the execution mode `parallel`."""
    execution_mode: ExecutionMode = "sequential"
    """Whether nodes may run in parallel."""
    execution_order: ExecutionOrder = "default"
    """Order in which onnxruntime runs independent nodes."""
    mem_pattern: bool = True
    """Plan the memory of a call from an earlier call with the same shapes."""
    mem_reuse: bool = True
    """Reuse the memory of tensors that are no longer needed."""
    deterministic: bool = False
    """Use only deterministic kernels."""
    disabled_optimizers: tuple[str, ...] = ()
    """Names of graph optimizers of onnxruntime to disable."""
    fixed_dims: dict[str, int] = {}
    """Sizes of symbolic dimensions to fix when the session is opened, which allows more optimizations."""
    provider_options: dict[str, str] = {}
    """Execution provider options."""
    run_options: dict[str, str] = {}
    """Run config entries of onnxruntime."""
    custom_ops: tuple[str, ...] = ()
    """Libraries of custom operators. They run their own code, so only explicitly named ones are loaded."""
    env: str = ""
    """Requested environment of the worker; empty means the interpreter that runs onnxperf."""
    shared_pool: bool = False
    """Share one thread pool between all sessions of a process, so that idle sessions do not spin against the active
    one."""


class Recording(Struct, frozen=True, kw_only=True):
    """What a session records."""

    trace_prefix: str | None = None
    """Prefix of the trace's file name, including the folder; null for no trace."""
    executed_path: str | None = None
    """File for the executed graph after all optimizations; null if not written."""
    smallest_external_bytes: int = 1024
    """Weights of at least this size go into a separate file, named like that graph with `.data` appended."""


class InputOptions(Struct, frozen=True, kw_only=True):
    """How inputs are generated if none are given."""

    seed: int = 0
    """Random seed of the inputs."""
    dims: dict[str, int] = {}
    """Dimension sizes by symbolic name ("batch") or by input and axis ("X.0")."""
    batch: int | None = None
    """Size of the batch dimension, regardless of its name."""
    shapes: dict[str, tuple[int, ...]] = {}
    """Full shapes by input name."""
    ranges: dict[str, tuple[float, float]] = {}
    """Smallest and largest value by input name, inclusive."""
    cast: bool = False
    """Cast given inputs to the model's types within the timed call."""


class RaceOptions(Struct, frozen=True, kw_only=True):
    """How subjects are measured and compared."""

    baseline: str | None = None
    """Name of the subject that the others are compared with; null for the first."""
    time: float | None = None
    """Time budget in seconds after the first start; null means 9, or more if five launches or 20 rounds need more."""
    min_effect: float = 0.01
    """Smallest relative difference that matters."""
    warmup: float = 0.1
    """Seconds of untimed calls before a subject's first block; later launches use a tenth of it."""
    blocks: int | None = None
    """Fixed number of rounds; null to choose it automatically."""
    calls_per_block: int | None = None
    """Fixed number of calls per block; null to choose it automatically."""
    seed: int = 0
    """Random seed for the order of the subjects."""
    split: bool = False
    """Also time the parts of a call: preparing inputs, computing, fetching outputs."""
    every: float | None = None
    """Seconds between the starts of consecutive calls, with a pause in between; null for no pauses."""
    count: str | None = None
    """Quantity to count after the race: `instructions`."""
    alpha_share: float = 1.0
    """Share of the error probability available to this race; less than 1 if it is one of several."""
    max_slowdown: float | None = None
    """Slowdown limit to decide instead of verdicts: the race ends when all intervals exclude it."""


class WorkerLimits(Struct, frozen=True, kw_only=True):
    """Limits at which a worker is stopped."""

    timeout: float = TIMEOUT_S
    """Maximum seconds for one step of a worker (loading, a block)."""
    memory_limit: int | None = None
    """Maximum resident memory of a worker in bytes; above it, the worker is stopped with status `oom`."""


class SourceOptions(Struct, frozen=True, kw_only=True):
    """How the source model is called."""

    device: str = "cpu"
    """Device on which torch and TensorFlow run: cpu, cuda."""
    check_finite: bool | None = None
    """Whether scikit-learn checks its inputs for NaN and infinity; null keeps the current setting."""


class Tolerances(Struct, frozen=True, kw_only=True):
    """When outputs count as equal, and which outputs correspond."""

    rtol: float = 1e-3
    """Relative tolerance for comparing the outputs of a model and its source."""
    atol: float = 1e-5
    """Absolute tolerance."""
    match: dict[str, str | int] = {}
    """Output of the model -> name or position of the source's output [default: by name, else by order]."""
    check: bool = True
    """Compare the outputs of subjects in a race; false if they are meant to differ."""


class Signature(Struct, frozen=True, kw_only=True):
    """An input or output as declared by a model."""

    name: str
    """Name in the graph."""
    kind: Literal["tensor", "sequence", "map", "optional", "sparse"] = "tensor"
    """Kind of value."""
    dtype: str = "float32"
    """Element type by its numpy name (ml_dtypes for bfloat16, float8… and int4), or "string"."""
    shape: tuple[int | str | None, ...] | None = None
    """A size, a symbolic name or null for each axis; null if even the rank is unknown."""
