"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onnxperf.api.bench import bench
    from onnxperf.api.cached_einsums import cached_einsums
    from onnxperf.api.check import check
    from onnxperf.api.diff import diff
    from onnxperf.api.doctor import doctor
    from onnxperf.api.einsum import einsum
    from onnxperf.api.load import load
    from onnxperf.api.optimize import optimize
    from onnxperf.api.optimize_einsum import optimize_einsum
    from onnxperf.api.profile import profile
    from onnxperf.api.rewrite_einsum import rewrite_einsum
    from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption, MissingExtra, OnnxperfError
    from onnxperf.results.bench import BenchResult
    from onnxperf.results.check import CheckResult
    from onnxperf.results.diff import DiffResult
    from onnxperf.results.doctor import DoctorResult
    from onnxperf.results.einsum import EinsumResult, RewriteResult
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
    "EinsumResult",
    "MissingExtra",
    "OnnxperfError",
    "OptimizeResult",
    "ProfileResult",
    "RewriteResult",
    "Runner",
    "bench",
    "cached_einsums",
    "check",
    "diff",
    "doctor",
    "einsum",
    "load",
    "optimize",
    "optimize_einsum",
    "profile",
    "rewrite_einsum",
]

_HOMES = {
    "BenchResult": "results.bench",
    "CheckResult": "results.check",
    "DiffResult": "results.diff",
    "DoctorResult": "results.doctor",
    "EinsumResult": "results.einsum",
    "OptimizeResult": "results.optimize",
    "ProfileResult": "results.profile",
    "RewriteResult": "results.einsum",
    "Runner": "runtimes.base",
    "bench": "api.bench",
    "cached_einsums": "api.cached_einsums",
    "check": "api.check",
    "diff": "api.diff",
    "doctor": "api.doctor",
    "einsum": "api.einsum",
    "load": "api.load",
    "optimize": "api.optimize",
    "optimize_einsum": "api.optimize_einsum",
    "profile": "api.profile",
    "rewrite_einsum": "api.rewrite_einsum",
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
