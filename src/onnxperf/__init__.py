"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxperf.api.bench import bench
    from onnxperf.api.check import check
    from onnxperf.api.doctor import doctor
    from onnxperf.api.load import load
    from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption, MissingExtra, OnnxperfError
    from onnxperf.results.bench import BenchResult
    from onnxperf.results.check import CheckResult
    from onnxperf.results.doctor import DoctorResult
    from onnxperf.runtimes.base import Runner

__all__ = [
    "BadFeed",
    "BadInput",
    "BadModel",
    "BadOption",
    "BenchResult",
    "CheckResult",
    "DoctorResult",
    "MissingExtra",
    "OnnxperfError",
    "Runner",
    "bench",
    "check",
    "doctor",
    "load",
]

_HOMES = {
    "BenchResult": "results.bench",
    "CheckResult": "results.check",
    "DoctorResult": "results.doctor",
    "Runner": "runtimes.base",
    "bench": "api.bench",
    "check": "api.check",
    "doctor": "api.doctor",
    "load": "api.load",
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
