"""Made by `make generated` from the public functions and their options; do not edit."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, overload

import onnx
from pandas import DataFrame

from onnxperf.api._keeping.bundles import ExportedRuns, ImportedRuns
from onnxperf.api._keeping.kept_runs import Opened, Where
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.recordings import Events
from onnxperf.api._shared.subjects import Functions, Sources
from onnxperf.api.diff import Side
from onnxperf.api.load import ProfilingRunner
from onnxperf.api.report import ReportSource
from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption, MissingExtra, OnnxperfError, StoreError
from onnxperf.measure.race import Progress
from onnxperf.records.doctor import MachineReport
from onnxperf.records.envs import Environments
from onnxperf.records.history import History
from onnxperf.records.lines import MemoryLines
from onnxperf.results.advise import AdviseResult
from onnxperf.results.base import Result
from onnxperf.results.bench import BenchResult
from onnxperf.results.bisect import BisectResult
from onnxperf.results.check import CheckResult
from onnxperf.results.convert import ConvertResult
from onnxperf.results.diff import DiffResult
from onnxperf.results.einsum import EinsumResult
from onnxperf.results.gate import GateResult
from onnxperf.results.memory import MemoryResult
from onnxperf.results.optimize import OptimizeResult
from onnxperf.results.profile import ProfileResult
from onnxperf.results.profiles import ProfilesResult
from onnxperf.results.quantize import QuantizeResult
from onnxperf.results.report import Report
from onnxperf.results.rewrite import RewriteResult
from onnxperf.results.runs import ComparisonResult, RunsResult
from onnxperf.results.stack import StackResult
from onnxperf.results.tune import TuneResult
from onnxperf.results.view import Form, ViewResult
from onnxperf.runtimes.base import Runner

__all__ = [
    "AdviseResult",
    "BadFeed",
    "BadInput",
    "BadModel",
    "BadOption",
    "BenchResult",
    "BisectResult",
    "CheckResult",
    "ConvertResult",
    "DiffResult",
    "EinsumResult",
    "GateResult",
    "MemoryResult",
    "MissingExtra",
    "OnnxperfError",
    "OptimizeResult",
    "ProfileResult",
    "ProfilesResult",
    "QuantizeResult",
    "Report",
    "Result",
    "RewriteResult",
    "Runner",
    "RunsResult",
    "StackResult",
    "StoreError",
    "TuneResult",
    "ViewResult",
    "advise",
    "bench",
    "bisect",
    "cached_einsums",
    "check",
    "compare_runs",
    "convert",
    "delete_run",
    "diff",
    "diff_view",
    "doctor",
    "einsum",
    "envs",
    "export_runs",
    "gate",
    "history",
    "import_runs",
    "load",
    "load_run",
    "log_to_mlflow",
    "memory",
    "memory_lines",
    "optimize",
    "optimize_einsum",
    "profile",
    "quantize",
    "remove_envs",
    "report",
    "rewrite_einsum",
    "runs",
    "stack",
    "sweep",
    "to_onnx",
    "tune",
    "view",
    "waiting_runs",
]

def advise(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    time: float | None = 60.0,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    output: str | Path | None = None,
    progress: Progress = ...,
) -> AdviseResult:
    """Find what costs time or memory in a model, and try remedies; Ctrl-C returns the results so far."""

def bench(
    model: Sources | Functions,
    feeds: Mapping[str, Any] | None = None,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] | None = "ort",
    against: Any = None,
    device: str = "cpu",
    check_finite: bool | None = None,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    all_combinations: bool = False,
    time: float | None = None,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    baseline: str | None = None,
    blocks: int | None = None,
    calls_per_block: int | None = None,
    split: bool = False,
    every: float | str | None = None,
    count: str | None = None,
    yardstick: bool | None = None,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    match: Mapping[str, str | int] = ...,
    check: bool = True,
    max_slowdown: float | str | None = None,
    on: str | None = None,
    each_node: bool = False,
    resume: str | None = None,
    retry: Sequence[str] = (),
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns the results so far."""

def bisect(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    releases: str | Sequence[str] | None = None,
    optimizers: bool = False,
    settings: bool = False,
    nodes: bool = False,
    by: Literal["time", "accuracy", "memory"] = "time",
    change: Literal["any", "worse", "better"] = "any",
    time: float | None = 120.0,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    output: str | Path | None = None,
    progress: Progress = ...,
) -> BisectResult:
    """Find where a model becomes slower or faster; Ctrl-C returns the results so far."""

def cached_einsums() -> DataFrame:
    """One row per plan kept, on disk or in memory, for any machine and version."""

def check(
    model: Sources,
    feeds: Mapping[str, Any] | None = None,
    *,
    nodes: bool = False,
    runtime: str | Sequence[str] | None = None,
    against: Any = None,
    device: str = "cpu",
    check_finite: bool | None = None,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    rtol: float = 0.001,
    atol: float = 1e-05,
    match: Mapping[str, str | int] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
) -> CheckResult:
    """Run two models, two runtimes, or a model and its source on the same inputs, and compare every output."""

def compare_runs(
    first: str,
    second: str,
    *,
    store: bool | str | Path | None = True,
) -> ComparisonResult:
    """Compare two saved races; verdicts are about the second one."""

def convert(
    model: Any,
    sample: Any = None,
    *,
    opset: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic: Mapping[str, str] | None = None,
    converter_options: Mapping[str, Any] = ...,
    black_op: Sequence[str] | None = None,
    check: bool = True,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    feeds: Mapping[str, Any] | None = None,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    rtol: float = 0.001,
    atol: float = 1e-05,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
) -> ConvertResult:
    """Convert a model, name its dimensions, and compare it with its source on the sample and on a second size."""

def delete_run(
    run: str,
    *,
    store: bool | str | Path | None = True,
) -> str:
    """Delete a run with everything that it measured; returns its whole id."""

def diff(
    before: Side,
    after: Side | None = None,
    *,
    calls: int | None = None,
    race: bool = True,
    time: float | None = None,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    feeds: Mapping[str, Any] | None = None,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> DiffResult:
    """Compare two models, traces or profiles node by node; or one model under two values of a setting."""

def diff_view(
    before: Source,
    after: Source | None = None,
    *,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
) -> ViewResult:
    """Draw two models with the nodes kept, fused, removed and added; nothing is run."""

def doctor(
    *,
    quick: bool = False,
    time: float | None = 9.0,
    threads: int | None = 1,
    progress: Progress = ...,
) -> Result[MachineReport]:
    """Describe this machine, race a small model against itself for `time` seconds, and measure its peaks."""

def einsum(
    equation: str,
    *arrays: Any,
    runtime: str | Sequence[str] | None = "ort",
    threads: int | None = None,
    optimize: bool | str = True,
    decompose: bool = True,
    progress: Progress = ...,
) -> Any:
    """What numpy.einsum returns, computed by an ONNX graph, or by numpy where that is faster."""

def envs() -> Result[Environments]:
    """The environments that were built for other versions of onnxruntime, sorted by name."""

def export_runs(
    runs: str | Sequence[str],
    path: str | Path,
    *,
    store: bool | str | Path | None = True,
) -> ExportedRuns:
    """Write runs to a bundle (.zip) with everything that they measured; "all" is every run of the store."""

def gate(
    model: Source,
    baseline: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    max_slowdown: float | str | None = "5%",
    max_memory: float | str | None = None,
    undecided: Literal["pass", "fail"] | None = None,
    baseline_env: str | None = None,
    baseline_subject: str | None = None,
    max_error: float | str | None = None,
    check: bool = True,
    time: float | None = 20.0,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    count: str | None = None,
    yardstick: bool | None = None,
    call: str | Sequence[str] = "run",
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> GateResult:
    """Decide whether a model may replace its `baseline`; Ctrl-C returns the results so far."""

def history(
    model: str | Path,
    *,
    group_by: Literal["version", "commit", "machine", "day"] | None = None,
    since: str | date | None = None,
    top: int | None = None,
    min_effect: float | str = "1%",
    store: bool | str | Path | None = True,
    by_label: bool = False,
) -> Result[History]:
    """The times of a model in all runs of the store, and where they change."""

def import_runs(
    path: str | Path,
    *,
    store: bool | str | Path | None = True,
) -> ImportedRuns:
    """Take the runs of a bundle that the store does not have; nothing if a part of the file is damaged."""

@overload
def load(
    model: Source,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] | None = "ort",
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    profile: Literal[True],
) -> ProfilingRunner:
    """Load a model in this process; `runner.run({"X": X})` returns its outputs by name."""

@overload
def load(
    model: Source,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] | None = "ort",
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    profile: bool = ...,
) -> Runner:
    """Load a model in this process; `runner.run({"X": X})` returns its outputs by name."""

def load_run(
    run: str | Path = "last",
    *,
    store: Opened = True,
) -> Any:
    """A saved run of any kind, with all that it measured; its record is exactly as it was."""

def log_to_mlflow(
    result: Result[Any],
    *,
    experiment: str | None = None,
) -> str:
    """Log a result to MLflow; returns the id of the run there."""

def memory(
    model: Sources | Functions,
    feeds: Mapping[str, Any] | None = None,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] | None = "ort",
    calls: int | None = None,
    sample_every: float | str = "1ms",
    skip_arena: bool = False,
    against: Any = None,
    device: str = "cpu",
    check_finite: bool | None = None,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    all_combinations: bool = False,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> MemoryResult:
    """Measure models or callables, each alone in a fresh process; Ctrl-C returns the results so far."""

def memory_lines(
    source: str | Callable[[], Any],
    *,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> Result[MemoryLines]:
    """Call a function once, and measure for each of its lines what memory stays and what it needed while it ran."""

def optimize(
    model: Source,
    output: str | Path,
    *,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
) -> OptimizeResult:
    """Write the model as onnxruntime executes it to `output`, and say which nodes became which."""

def optimize_einsum(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    dtype: str = "float32",
    opset: int = 18,
    again: bool = False,
    portable: bool = False,
    search: bool = True,
    runtime: str | Sequence[str] | None = "ort",
    time: float | None = 18.0,
    threads: int | None = None,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> EinsumResult:
    """Find the fastest graph for an equation on these shapes; a plan found before is not searched again."""

def profile(
    source: Source | Events,
    feeds: Mapping[str, Any] | None = None,
    *,
    calls: int | None = None,
    roofline: bool = False,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    all_combinations: bool = False,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> ProfileResult | Any:
    """Profile a model with onnxruntime, or read a trace that onnxruntime wrote."""

def quantize(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    calibrate: Any = None,
    max_error: float | str | None = "10%",
    time: float | None = 120.0,
    min_effect: float | str = "1%",
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    output: str | Path | None = None,
    progress: Progress = ...,
) -> QuantizeResult:
    """Quantize a model to int8, and say what that gives: as a whole, by layer, in time and in accuracy."""

def remove_envs(
    names: str | Sequence[str],
) -> list[str]:
    """Remove environments by name, "all" for all of them; returns what was removed."""

def report(
    *sources: ReportSource,
    output: str | Path | None = None,
    store: Where = True,
) -> Report:
    """Put results on one page; without a source, the newest run."""

def rewrite_einsum(
    model: Source,
    output: str | Path,
    feeds: Mapping[str, Any] | None = None,
    *,
    portable: bool = False,
    search: bool = True,
    time: float | None = None,
    min_effect: float | str = "1%",
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> RewriteResult:
    """Replace Einsum nodes by the fastest graphs for their shapes, and write the model if that made it faster."""

def runs(
    *,
    top: int | None = None,
    kind: str | None = None,
    about: str | None = None,
    store: bool | str | Path | None = True,
    tags: Mapping[str, str] | None = None,
) -> RunsResult:
    """The runs in the store, the newest first."""

def stack(
    source: Source | Callable[[], Any],
    feeds: Mapping[str, Any] | None = None,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] | None = "numpy",
    calls: int | None = None,
    sample_every: float | str = "0.5ms",
    native: bool = False,
    allocations: bool = False,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> StackResult:
    """Call a model or a callable many times, and show where the time goes."""

def sweep(
    plan: str | Path | Mapping[str, Any],
    *,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    all_combinations: bool = False,
    time: float | None = None,
    min_effect: float | str = "1%",
    warmup: float = 0.1,
    count: str | None = None,
    yardstick: bool | None = None,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    on: str | None = None,
    each_node: bool = False,
    resume: str | None = None,
    retry: Sequence[str] = (),
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> BenchResult:
    """Run every case of a plan (a .toml file or its contents); with a store, each is saved as soon as it is finished."""

def to_onnx(
    model: Any,
    sample: Any = None,
    *,
    opset: int | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    dynamic: Mapping[str, str] | None = None,
    converter_options: Mapping[str, Any] = ...,
    black_op: Sequence[str] | None = None,
    check: bool = True,
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    feeds: Mapping[str, Any] | None = None,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    rtol: float = 0.001,
    atol: float = 1e-05,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
) -> onnx.ModelProto:
    """Convert a model as `onnxperf.convert` does, with its options; an error if it computes something else."""

def tune(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    goal: Literal["latency", "cpu", "memory"] = "latency",
    call: str | None = None,
    allow: Literal["approx"] | None = None,
    max_error: float | str | None = None,
    calibrate: Any = None,
    time: float | None = 120.0,
    min_effect: float | str = "1%",
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    rtol: float = 0.001,
    atol: float = 1e-05,
    on: str | None = None,
    resume: str | None = None,
    store: bool | str | Path | None = False,
    tags: Mapping[str, str] | None = None,
    progress: Progress = ...,
) -> TuneResult:
    """Search the settings under which a model is fastest; Ctrl-C returns the best until then, unconfirmed."""

def view(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    all: bool = False,
    around: str | None = None,
    op: str | None = None,
    depth: int | None = None,
    values: bool = False,
    profile: Any = None,
    by: Literal["time", "memory", "headroom"] = "time",
    dims: Mapping[str, int | Sequence[int]] = ...,
    batch: int | Sequence[int] | None = None,
    shapes: Mapping[str, Sequence[int]] = ...,
    ranges: Mapping[str, tuple[float, float]] = ...,
    seed: int = 0,
    cast: bool = False,
    threads: int | Sequence[int] | None = None,
    provider: str | Sequence[str] = "cpu",
    options: Mapping[str, Any] = ...,
    options_unchecked: Mapping[str, Any] = ...,
    env: str | Sequence[str] = "",
    opt_level: str | Sequence[str] = "all",
    variants: Mapping[str, Any] | str | Path | Sequence[str | Path] = ...,
    timeout: float = 300.0,
    memory_limit: int | str | None = None,
    as_: Form = "text",
    progress: Progress = ...,
) -> ViewResult:
    """Show a model; `str()` of what is returned is the text, and a notebook shows the picture."""

def waiting_runs() -> list[str]:
    """A line for each store that could not be written, about what waits for it."""

def load_ipython_extension(shell: Any) -> None: ...
