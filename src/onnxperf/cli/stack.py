"""`onnxperf stack`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, SessionFlags, Switch
from onnxperf.cli.output import JsonKeep, command_line, make_console, make_progress, write_text

if TYPE_CHECKING:
    from onnxperf.results.stack import StackResult

STACK = Group("Stack", sort_key=0)


@Parameter(name="*", group=STACK)
@dataclass(frozen=True)
class StackFlags:
    """How often the model is called, who watches, and what is shown."""

    runtime: str = "numpy"
    """ort, numpy or reference."""
    call: str = "run"
    """Call style of the runtime."""
    calls: int | None = None
    """Calls to make; as many as take about 2 s unless given."""
    interval: float = 0.0005
    """Seconds between two samples of pyinstrument."""
    native: Switch = False
    """Show the busiest functions of compiled libraries too, as py-spy sees them."""
    rate: int = 400
    """Samples per second of py-spy."""
    allocations: Switch = False
    """Show where the calls take memory too, as memray sees it; at most 1,000 of them unless --calls is given."""
    top: int = 15
    """Compiled functions and allocating lines to show."""
    all: Switch = False
    """Do not fold the frames of libraries."""
    timeout: float = 600.0
    """Seconds that one step (loading, all calls) may take."""
    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File to write: .txt, .html (with --allocations memray's flame graph), .json (for speedscope.app), .csv,
    .png (chart), .svg (flame graph, with --native)."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        names = ("runtime", "call", "calls", "interval", "native", "rate", "allocations", "timeout")
        return {name: getattr(self, name) for name in names}


def stack(
    source: str,
    /,
    *,
    options: StackFlags = StackFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    keep: JsonKeep = JsonKeep(),
) -> int:
    """Show where the time of many calls goes: in Python, in kernels, and between both.

    For example:

        onnxperf stack model.onnx --runtime numpy --calls 20000

        onnxperf stack model.onnx --runtime ort --native -o flame.svg

        onnxperf stack predict.py:main --allocations -o memory.html

    Parameters
    ----------
    source
        An ONNX file, or a function that is called without arguments: FILE.py:function.
    """
    from msgspec.structs import replace

    from onnxperf.api.stack import stack as measure

    _check(options, keep)
    with make_progress(keep.quiet) as progress:
        keywords = {**options.keywords(), **inputs.keywords(), **session.keywords()}
        result = measure(source, inputs.feeds(), progress=progress, **keywords)
    result.record = replace(result.record, command=command_line())
    _show(result, options, keep)
    keep.keep(result.record, "stack")
    if options.output is not None:
        result.save(options.output)
    if keep.json is not None:
        write_text(keep.json, result.to_json())
    return 0


def _show(result: StackResult, options: StackFlags, keep: JsonKeep) -> None:
    from onnxperf.render.stack.stack import print_stack, tree_text

    console = make_console(stderr=keep.json == "-")
    if keep.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
        return
    tree = tree_text(result.session, options.all, console.encoding.startswith("utf"), console.is_terminal)
    print_stack(result.record, console, tree, options.top)


def _check(options: StackFlags, keep: JsonKeep) -> None:
    """Refuse what could not be shown or written, before anything is measured."""
    from onnxperf.errors import BadOption
    from onnxperf.results.stack import SUFFIXES

    if options.top < 1:
        raise BadOption(f"--top {options.top}: expected at least 1")
    suffix = Path(options.output).suffix.lower() if options.output else ""
    if options.output and suffix not in SUFFIXES:
        raise BadOption(f"--output {options.output}: expected a name that ends with {', '.join(SUFFIXES)}")
    if suffix == ".svg" and not options.native:
        raise BadOption(f"--output {options.output}: a flame graph needs --native")
    for path in (options.output, keep.json):
        if path not in (None, "-") and not Path(str(path)).absolute().parent.is_dir():
            raise BadOption(f"cannot write {path}: its folder does not exist")
