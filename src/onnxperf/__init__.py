"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # importing `typing` for it would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

    from onnxperf.api.advise import advise
    from onnxperf.api.bench import bench
    from onnxperf.api.bisect import bisect
    from onnxperf.api.cached_einsums import cached_einsums
    from onnxperf.api.check import check
    from onnxperf.api.convert import convert
    from onnxperf.api.diff import diff
    from onnxperf.api.diff_view import diff_view
    from onnxperf.api.doctor import doctor
    from onnxperf.api.einsum import einsum
    from onnxperf.api.envs import envs
    from onnxperf.api.gate import gate
    from onnxperf.api.history import history
    from onnxperf.api.load import load
    from onnxperf.api.load_run import load_run
    from onnxperf.api.log_to_mlflow import log_to_mlflow
    from onnxperf.api.memory import memory
    from onnxperf.api.memory_lines import memory_lines
    from onnxperf.api.optimize import optimize
    from onnxperf.api.optimize_einsum import optimize_einsum
    from onnxperf.api.profile import profile
    from onnxperf.api.profile_variants import profile_variants
    from onnxperf.api.quantize import quantize
    from onnxperf.api.report import report
    from onnxperf.api.rewrite_einsum import rewrite_einsum
    from onnxperf.api.runs import runs
    from onnxperf.api.stack import stack
    from onnxperf.api.sweep import sweep
    from onnxperf.api.to_onnx import to_onnx
    from onnxperf.api.tune import tune
    from onnxperf.api.view import view
    from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption, MissingExtra, OnnxperfError, StoreError
    from onnxperf.results.advise import AdviseResult
    from onnxperf.results.bench import BenchResult
    from onnxperf.results.bisect import BisectResult
    from onnxperf.results.check import CheckResult
    from onnxperf.results.convert import ConvertResult
    from onnxperf.results.diff import DiffResult
    from onnxperf.results.doctor import DoctorResult
    from onnxperf.results.einsum import EinsumResult
    from onnxperf.results.envs import EnvsResult
    from onnxperf.results.gate import GateResult
    from onnxperf.results.history import HistoryResult
    from onnxperf.results.lines import LinesResult
    from onnxperf.results.memory import MemoryResult
    from onnxperf.results.optimize import OptimizeResult
    from onnxperf.results.profile import ProfileResult
    from onnxperf.results.profiles import ProfilesResult
    from onnxperf.results.quantize import QuantizeResult
    from onnxperf.results.report import Report
    from onnxperf.results.rewrite import RewriteResult
    from onnxperf.results.runs import RunsResult
    from onnxperf.results.stack import StackResult
    from onnxperf.results.tune import TuneResult
    from onnxperf.results.view import ViewResult
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
    "DoctorResult",
    "EinsumResult",
    "EnvsResult",
    "GateResult",
    "HistoryResult",
    "LinesResult",
    "MemoryResult",
    "MissingExtra",
    "OnnxperfError",
    "OptimizeResult",
    "ProfileResult",
    "ProfilesResult",
    "QuantizeResult",
    "Report",
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
    "convert",
    "diff",
    "diff_view",
    "doctor",
    "einsum",
    "envs",
    "gate",
    "history",
    "load",
    "load_run",
    "log_to_mlflow",
    "memory",
    "memory_lines",
    "optimize",
    "optimize_einsum",
    "profile",
    "profile_variants",
    "quantize",
    "report",
    "rewrite_einsum",
    "runs",
    "stack",
    "sweep",
    "to_onnx",
    "tune",
    "view",
]

_ELSEWHERE = {"Report": "results.report", "Runner": "runtimes.base"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import onnxperf` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'onnxperf' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"onnxperf.{_home(name)}"), name)
    globals()[name] = value
    return value


def _home(name: str) -> str:
    """The module of a public name: functions are in api, results in results, each in a file of its name."""
    if name.islower():
        return f"api.{name}"
    if name.endswith("Result"):
        return f"results.{name.removesuffix('Result').lower()}"
    return _ELSEWHERE.get(name, "errors")


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext onnxperf` calls."""
    from onnxperf.notebook import load

    load(shell)
