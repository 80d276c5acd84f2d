"""`onnxperf --version`: the versions for a bug report, found without importing the libraries."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

_LIBRARIES = (
    "onnx",
    "onnxruntime",
    "onnxruntime-gpu",
    "numpy",
    "scikit-learn",
    "skl2onnx",
    "torch",
    "onnxscript",
    "tensorflow",
    "tensorflow-cpu",
    "keras",
    "tf2onnx",
)
_PROVIDER = re.compile(r"onnxruntime_providers_(?!shared)(\w+)\.(?:so|dll|dylib)$")
"""The library of an execution provider; onnxruntime itself contains the CPU provider."""


def versions() -> str:
    """One line each: onnxperf, Python, the platform, and all installed libraries that affect measurements."""
    return "\n".join(
        [
            f"onnxperf {distribution('onnxperf').version}",
            f"Python {platform.python_version()} ({platform.python_implementation()})",
            platform.platform(),
            *_installed(),
        ]
    )


def _installed() -> Iterator[str]:
    for name in _LIBRARIES:
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        providers = f" (providers: {', '.join(_providers(found))})" if name.startswith("onnxruntime") else ""
        yield f"{name} {found.version}{providers}"


def _providers(found: Distribution) -> list[str]:
    names = (_PROVIDER.search(file.name) for file in found.files or ())
    return ["cpu", *sorted(name[1] for name in names if name)]
