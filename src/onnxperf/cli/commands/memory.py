"""`onnxperf memory`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import MEMORY, MEMORY_LINES, Lines


@command(MEMORY, Lines, *KEPT, common=("dims", "runtime", "calls", "lines", "output"))
def memory(model: File, /, *, typed: Typed) -> int:
    """Show how much memory a prediction needs, whether it grows, and which tensors are largest.

    Each subject runs in a fresh process. The peaks are those that the kernel reports.

    Examples
    --------
    # Compare the peaks of two runtimes
    onnxperf memory model.onnx --dim batch=300000 --runtime ort,numpy
    # What does a cast of the inputs cost?
    onnxperf memory model.onnx --input X=float64.npy --cast -o memory.png
    # Which line of a function needs the memory?
    onnxperf memory train.py:predict --lines

    Parameters
    ----------
    model
        An ONNX file, or a function without arguments: FILE.py:function.
    """
    import onnxperf
    from onnxperf.results import lines
    from onnxperf.results import memory as measured

    if typed.own["lines"]:
        refuse_useless(typed.keywords, list(MEMORY_LINES.options), "`lines`, which calls a function once")
        return present(
            lines.SHOW,
            typed.output,
            lambda progress: onnxperf.memory_lines(model, progress=progress, **typed.keywords),
        )
    return present(
        measured.SHOW,
        typed.output,
        lambda progress: onnxperf.memory(model, progress=progress, **typed.keywords),
    )
