"""`onnxperf diff`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, RuntimeFlags, Switch, part
from onnxperf.cli.output import INTERRUPTED, PARTIAL, command_line, make_console, make_progress, write_text
from onnxperf.cli.tables import TableFlags
from onnxperf.errors import BadOption

if TYPE_CHECKING:
    from onnxperf.results.diff import DiffResult

_GO_WITH_DRAWINGS = frozenset({"opt_level", "quiet", "debug", "no_store"})


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class DiffFlags:
    """How the two sides are compared."""

    opt_level: str = "all"
    """Optimisation level of onnxruntime, or one for each side: disable,all."""
    repeat: int | None = None
    """Profiled inferences of each side; as many as take about a second (5 to 100) unless given."""
    no_race: Switch = False
    """Leave out the race without the profiler, which gives the verdict."""
    time: float | None = None
    """Seconds of that race; 6, or as many as 20 rounds need, unless given."""
    min_effect: str = "1%"
    """Smallest difference that matters in that race, such as 0.5%."""
    timeout: float = 600.0
    """Seconds that one step (loading, a block of calls) may take."""
    min_share: str = "1%"
    """Nodes with a smaller share of the time are folded into one row."""
    table: Literal["merged", "labels"] = "merged"
    """The table that --csv and --parquet write."""


@Parameter(name="*", group=Group("Drawing", sort_key=5))
@dataclass(frozen=True)
class DrawingFlags:
    """The two graphs instead of their times."""

    as_: Annotated[Literal["table", "svg", "png"], Parameter(name="--as")] = "table"
    """Tables of times, or a drawing of both graphs with what was fused, removed and added; that runs nothing."""
    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None
    """File of the drawing; an SVG goes to standard output unless given."""


def diff(
    base: str,
    opti: str | None = None,
    /,
    *,
    options: DiffFlags = DiffFlags(),
    inputs: InputFlags = InputFlags(),
    session: RuntimeFlags = RuntimeFlags(),
    drawing: DrawingFlags = DrawingFlags(),
    output: TableFlags = TableFlags(),
) -> int:
    """Compare two models, two traces or two optimisation levels, node by node.

    For example:

        onnxperf diff model.onnx --opt-level disable,all

        onnxperf diff old.onnx new.onnx --dim batch=8 --plot diff.png

        onnxperf diff before.json after.json --xlsx diff.xlsx

        onnxperf diff model.onnx --as svg -o optimised.svg

    Parameters
    ----------
    base
        An ONNX file or a trace: the first side.
    opti
        An ONNX file or a trace: the second side; without it, two levels of the first are compared.
    """
    if drawing.as_ != "table":
        _refuse_all_but_the_drawing(options, inputs, output)
        return _draw(base, opti, options.opt_level, drawing.as_, drawing.output, session)
    if drawing.output is not None:
        raise BadOption(
            f"--output {drawing.output}: a drawing goes there (--as svg); tables go to --csv, --xlsx or --json"
        )
    output.check()
    return _report(_compare(base, opti, options, inputs, session, output), options, output)


def _report(result: DiffResult, options: DiffFlags, output: TableFlags) -> int:
    from msgspec.structs import replace

    from onnxperf.render.profile.profile import print_diff

    result.record = replace(result.record, command=command_line())
    console = make_console(stderr=output.json == "-")
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        print_diff(result.record, console, min_share=part(options.min_share, "min-share"))
    output.keep(result.record, "diff")
    output.write(result, options.table)
    race = result.record.race
    if result.record.base.interrupted or (race is not None and race.interrupted):
        return INTERRUPTED
    return PARTIAL if race is not None and race.status != "ok" else 0


def _compare(
    base: str, opti: str | None, options: DiffFlags, inputs: InputFlags, session: RuntimeFlags, output: TableFlags
) -> DiffResult:
    from onnxperf.api.diff import diff as compare

    part(options.min_share, "min-share")  # refused before anything is measured
    with make_progress(output.quiet) as progress:
        return compare(
            base,
            opti,
            opt_level=options.opt_level,
            feeds=inputs.feeds(),
            repeat=options.repeat,
            race=not options.no_race,
            progress=progress,
            time=options.time,
            min_effect=part(options.min_effect),
            timeout=options.timeout,
            **inputs.keywords(),
            **session.keywords(),
        )


def _refuse_all_but_the_drawing(*given: DiffFlags | InputFlags | TableFlags) -> None:
    """A drawing measures nothing: what chooses a measurement, its inputs or its tables would do nothing."""
    changed = [
        field.name
        for flags in given
        for field in fields(flags)
        if field.name not in _GO_WITH_DRAWINGS and getattr(flags, field.name) != getattr(type(flags)(), field.name)
    ]
    if changed:
        option = changed[0].replace("_", "-")
        raise BadOption(f"--{option} does nothing for a drawing, which runs nothing; leave it out, or leave out --as")


def _draw(
    base: str,
    opti: str | None,
    opt_level: str,
    form: Literal["svg", "png"],
    output: str | None,
    session: RuntimeFlags,
) -> int:
    from onnxperf.api.diff_view import diff_view

    if form == "png" and output is None:
        raise BadOption("a PNG is no text; name a file with -o diff.png")
    levels = None if opt_level == "all" else opt_level
    write_text(output or "-", diff_view(base, opti, opt_level=levels, as_=form, **session.keywords()).content)
    return 0
