"""`onnxperf toy`."""

from __future__ import annotations

from onnxperf.cli.present import KeptOutputFlags, present


def toy(model: str, /, *, output: KeptOutputFlags = KeptOutputFlags()) -> int:
    """Count the nodes of a model."""
    from onnxperf.api.toy import toy as measure  # type: ignore[import-not-found]
    from onnxperf.results.toy import ToyResult  # type: ignore[import-not-found]

    return present(ToyResult, output, lambda _progress: measure(model))
