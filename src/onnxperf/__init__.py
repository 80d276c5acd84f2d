"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # importing `typing` for it would take longer than all the rest
if TYPE_CHECKING:
    from typing import Any

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

_ELSEWHERE = {"Report": "results.report", "Result": "results.base", "Runner": "runtimes.base"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import onnxperf` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'onnxperf' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"onnxperf.{_home(name)}"), name)
    globals()[name] = value
    return value


def _home(name: str) -> str:
    """The module of a public name: functions are in api, results in results, each in a file of its name."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if name.islower():
        return f"api.{name}"
    return f"results.{name.removesuffix('Result').lower()}" if name.endswith("Result") else "errors"


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext onnxperf` calls."""
    from onnxperf.notebook import load

    load(shell)
