"""`onnxperf history`."""

from __future__ import annotations

from onnxperf.cli.command import WRITTEN, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import HISTORY


@command(HISTORY, *WRITTEN)
def history(model: File, /, *, typed: Typed) -> int:
    """Show how the times of a model changed from run to run, and since when.

    Every machine, way of calling and size is a series of its own. A change point is where the times of a series
    change, beyond their noise and for good.

    For example:

        onnxperf history model.onnx

        onnxperf history zoo:tiny-linear --group-by commit --since 30d

        onnxperf history model.onnx -o history.html -o history.png

    Parameters
    ----------
    model
        A model as runs show it: its label, its .onnx file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.history import SHOW

    return present(SHOW, typed.output, lambda _progress: onnxperf.history(model, **typed.keywords))
