"""`onnxperf diff`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.commands.view import ViewOutput
from onnxperf.cli.options import (
    File,
    Flags,
    InputFlags,
    OptionalFile,
    RuntimeFlags,
    Switch,
    keywords_of,
    part,
    refuse_others,
)
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.records.timeouts import LONG_TIMEOUT_S

_WITH_DRAWINGS = frozenset({"opt_level", "output", "quiet", "debug", "store", "no_store", "tag"})
"""Options that mean something for a drawing, which runs nothing, or do no harm."""


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class DiffFlags(Flags):
    """How the two sides are compared."""

    only_here = ("no_race", "min_share")

    opt_level: str = "all"
    """Optimisation level of onnxruntime, or one for each side: disable,all."""
    repeat: int | None = None
    """Profiled inferences of each side, spread over 5 processes [default: as many as take about 1.5 s, 31 to 151].
    Fewer than 11 run in one process, which proves nothing about single nodes."""
    no_race: Switch = False
    """Leave out the race without the profiler, which gives the verdict."""
    time: float | None = None
    """Time budget of that race in seconds [default: 9, more for slow models]."""
    min_effect: str = "1%"
    """Smallest difference that matters in that race, such as 0.5%."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    min_share: str = "1%"
    """Rows with a smaller share of the time are folded into one."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {**super().keywords(), "race": not self.no_race, "min_effect": part(self.min_effect)}


@Parameter(name="*", group=Group("Drawing", sort_key=5))
@dataclass(frozen=True)
class DrawingFlags:
    """The two graphs instead of their times."""

    as_: Annotated[Literal["table", "svg", "png"], Parameter(name="--as")] = "table"
    """Tables of times, or a drawing of both graphs with what was fused, removed and added; that runs nothing.
    The drawing goes to the file of --output; an SVG goes to standard output without it."""


def diff(
    before: File,
    after: OptionalFile = None,
    /,
    *,
    options: DiffFlags = DiffFlags(),
    inputs: InputFlags = InputFlags(),
    session: RuntimeFlags = RuntimeFlags(),
    drawing: DrawingFlags = DrawingFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Compare two models, two traces or two optimisation levels, node by node.

    For example:

        onnxperf diff model.onnx --opt-level disable,all

        onnxperf diff old.onnx new.onnx --dim batch=8 -o diff.png

        onnxperf diff before.json after.json -o diff.xlsx

        onnxperf diff model.onnx --as svg -o optimised.svg

    Parameters
    ----------
    before
        An ONNX file or a trace: the first side.
    after
        An ONNX file or a trace: the second side; without it, two levels of the first are compared.
    """
    if drawing.as_ != "table":
        refuse_others(_WITH_DRAWINGS, "a drawing, which runs nothing", options, inputs, output)
        return _draw(before, after, options.opt_level, drawing.as_, output.output, session)
    from onnxperf.api.diff import diff as compare
    from onnxperf.results.diff import DiffResult

    min_share = part(options.min_share, "min-share")
    keywords = keywords_of(options, inputs, session)
    return present(
        DiffResult,
        output,
        lambda progress: compare(before, after, feeds=inputs.feeds(), progress=progress, **keywords),
        page=lambda result: result.page(min_share),
    )


def _draw(
    before: File,
    after: OptionalFile,
    opt_level: str,
    form: Literal["svg", "png"],
    files: list[str],
    session: RuntimeFlags,
) -> int:
    from onnxperf.api.diff_view import diff_view
    from onnxperf.render.kit.files import suffix_of
    from onnxperf.results.view import ViewResult

    if len(files) > 1:
        raise BadOption("a drawing goes into one file", option="output", value=files[1])
    if form == "png" and not files:
        raise BadOption("a PNG is not text; name a file with -o diff.png")
    for path in files:
        suffix_of(path, [f".{form}"])
    levels = None if opt_level == "all" else opt_level
    return present(
        ViewResult,
        ViewOutput(output=files, as_=form),
        lambda _progress: diff_view(before, after, opt_level=levels, as_=form, **session.keywords()),
        page=lambda _result: [],
    )
