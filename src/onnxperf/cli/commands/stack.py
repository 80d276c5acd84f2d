"""`onnxperf stack`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, Flags, InputFlags, SessionFlags, Switch, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.records.timeouts import LONG_TIMEOUT_S


@Parameter(name="*", group=Group("Stack", sort_key=0))
@dataclass(frozen=True)
class StackFlags(Flags):
    """How often the model is called, how it is watched, and what is shown."""

    only_here = ("top", "all")

    runtime: str = "numpy"
    """What executes the model: ort, numpy or reference."""
    call: str = "run"
    """Call style of the runtime."""
    calls: int | None = None
    """Number of calls; as many as take about 2 s unless given."""
    interval: float = 0.0005
    """Seconds between two samples of pyinstrument."""
    native: Switch = False
    """Show the busiest functions of compiled libraries too, as py-spy sees them."""
    rate: int = 400
    """Samples per second of py-spy."""
    allocations: Switch = False
    """Show where the calls take memory too, as memray sees it; at most 1,000 of them unless --calls is given."""
    top: int = 15
    """Number of compiled functions and allocating lines to show."""
    all: Switch = False
    """Do not fold the frames of libraries."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (loading, all calls) may take."""


def stack(
    source: File,
    /,
    *,
    options: StackFlags = StackFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
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
    from onnxperf.api.stack import stack as measure
    from onnxperf.results.stack import FLAME, MEMRAY, StackResult

    if options.top < 1:
        raise BadOption(option="top", value=options.top, expected="at least 1")
    for suffix, needed in ((FLAME, "native"), (MEMRAY, "allocations")):
        picture = output.named(suffix)
        if picture is not None and not getattr(options, needed):
            raise BadOption(f"a flame graph needs `{needed}`", option="output", value=picture)
    keywords = keywords_of(options, inputs, session)
    return present(
        StackResult,
        output,
        lambda progress: measure(source, inputs.feeds(), progress=progress, **keywords),
        page=lambda result: result.page(options.all, options.top),
    )
