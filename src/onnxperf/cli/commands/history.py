"""`onnxperf history`."""

from __future__ import annotations

from onnxperf.cli.command import WRITTEN, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import HISTORY


@command(HISTORY, *WRITTEN, common=("group_by", "since", "min_effect", "top", "output"))
def history(model: File, /, *, typed: Typed) -> int:
    """Show how the times of a model changed from run to run, and since when.

    Each machine, call style and input size is a separate series. A change point marks a lasting change beyond the
    noise.

    Examples
    --------
    # How did the times change?
    onnxperf history model.onnx
    # Which commit of the last 30 days made it slower?
    onnxperf history model.onnx --group-by commit --since 30d
    # Write a page and a chart
    onnxperf history model.onnx -o history.html -o history.png

    Parameters
    ----------
    model
        A model as runs show it: its label, its .onnx file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.history import SHOW

    return present(SHOW, typed.output, lambda _progress: onnxperf.history(model, **typed.keywords))
