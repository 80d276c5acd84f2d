"""`onnxperf stack`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.functions import STACK, StackRows
from onnxperf.options.output import Everything


@command(STACK, StackRows, Everything, *KEPT)
def stack(source: File, /, *, typed: Typed) -> int:
    """Show where the time of many calls goes: in Python, in kernels, and between both.

    Files (-o): .html (the page with its flame graph), .txt, .json, .csv, .png (chart), .speedscope.json, .svg (flame
    graph of native frames, with --native), .pyinstrument.html, .memray.html (with --allocations).

    For example:

        onnxperf stack model.onnx --runtime numpy --calls 20000

        onnxperf stack model.onnx --runtime ort --native -o flame.svg

        onnxperf stack predict.py:main --allocations -o peak.memray.html

    Parameters
    ----------
    source
        An ONNX file, or a function that is called without arguments: FILE.py:function.
    """
    import onnxperf
    from onnxperf.results.stack import NEEDED

    for path, suffix in typed.output.files(onnxperf.StackResult):
        needed = NEEDED.get(suffix, "")
        if needed and not typed.keywords.get(needed):
            raise BadOption(f"a flame graph needs `{needed}`", option="output", value=path)
    return present(
        onnxperf.StackResult,
        typed.output,
        lambda progress: onnxperf.stack(source, progress=progress, **typed.keywords),
        page=lambda result: result.page(typed.own["all"], typed.own["top"]),
    )
