"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxperf.api.bench import bench
    from onnxperf.api.check import check
    from onnxperf.api.diff import diff
    from onnxperf.api.doctor import doctor
    from onnxperf.api.load import load
    from onnxperf.api.optimize import optimize
    from onnxperf.api.profile import profile
    from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption, MissingExtra, OnnxperfError
    from onnxperf.results.bench import BenchResult
    from onnxperf.results.check import CheckResult
    from onnxperf.results.diff import DiffResult
    from onnxperf.results.doctor import DoctorResult
    from onnxperf.results.optimize import OptimizeResult
    from onnxperf.results.profile import ProfileResult
    from onnxperf.runtimes.base import Runner

__all__ = [
    "BadFeed",
    "BadInput",
    "BadModel",
    "BadOption",
    "BenchResult",
    "CheckResult",
    "DiffResult",
    "DoctorResult",
    "MissingExtra",
    "OnnxperfError",
    "OptimizeResult",
    "ProfileResult",
    "Runner",
    "bench",
    "check",
    "diff",
    "doctor",
    "load",
    "optimize",
    "profile",
]

_HOMES = {
    "BenchResult": "results.bench",
    "CheckResult": "results.check",
    "DiffResult": "results.diff",
    "DoctorResult": "results.doctor",
    "OptimizeResult": "results.optimize",
    "ProfileResult": "results.profile",
    "Runner": "runtimes.base",
    "bench": "api.bench",
    "check": "api.check",
    "diff": "api.diff",
    "doctor": "api.doctor",
    "load": "api.load",
    "optimize": "api.optimize",
    "profile": "api.profile",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import onnxperf` costs nothing."""
    if name not in __all__:
        raise AttributeError(f"module 'onnxperf' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"onnxperf.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
