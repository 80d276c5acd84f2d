"""`onnxperf stack`."""

from __future__ import annotations

from pathlib import Path

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.functions import STACK, StackRows
from onnxperf.options.output import Everything


@command(STACK, StackRows, Everything, *KEPT, common=("calls", "runtime", "native", "allocations", "output"))
def stack(source: File, /, *, typed: Typed) -> int:
    """Show where the time of many calls goes: in Python, in kernels, and in between.

    -o writes .html (the page with its flame graph), .txt, .json, .csv, .png, .svg, .speedscope.json and
    .pyinstrument.html. With --native, .png and .svg show the flame graph of compiled frames. With --allocations, -o
    also writes .memray.html.

    Examples
    --------
    # Where does the numpy runtime spend its time?
    onnxperf stack model.onnx --runtime numpy --calls 20000
    # Draw the compiled functions of onnxruntime
    onnxperf stack model.onnx --runtime ort --native -o flame.svg
    # Where does a function allocate memory?
    onnxperf stack predict.py:main --allocations -o peak.memray.html

    Parameters
    ----------
    source
        An ONNX file, or a function without arguments: FILE.py:function.
    """
    import onnxperf
    from onnxperf.results.stack import SHOW

    _refuse_unmeasured(typed)
    return present(
        SHOW,
        typed.output,
        lambda progress: onnxperf.stack(source, progress=progress, **typed.keywords),
        page=lambda result: result.page(typed.own["all"], typed.own["top"]),
    )


def _refuse_unmeasured(typed: Typed) -> None:
    """Refuse files, tables and charts of measurements that were not requested."""
    from onnxperf.results.stack import NEEDED, SHOW

    output = typed.output
    wanted = [("table", output.table, output.table), ("chart", output.chart, output.chart)]
    for path, suffix in output.files(SHOW):
        wanted += [("output", path, suffix), ("output", path, Path(path).name[: -len(suffix)].rpartition(".")[2])]
    for option, value, what in wanted:
        needed = NEEDED.get(what or "")
        if needed and not typed.keywords.get(needed):
            raise BadOption(f"this needs `{needed}`", option=option, value=value)
