"""`onnxperf toy`."""

from __future__ import annotations

from onnxperf.api.toy import TOY  # type: ignore[import-not-found]

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present


@command(TOY, *KEPT)
def toy(model: File, /, *, typed: Typed) -> int:
    """Count the nodes of a model.

    Parameters
    ----------
    model
        An ONNX file.
    """
    from onnxperf.api.toy import toy as measure
    from onnxperf.results.toy import SHOW  # type: ignore[import-not-found]

    return present(SHOW, typed.output, lambda _progress: measure(model, **typed.keywords))
