"""`onnxperf diff`."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from typing import Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, RuntimeFlags, Switch, part
from onnxperf.cli.output import INTERRUPTED, PARTIAL, make_console, make_progress
from onnxperf.cli.tables import TableFlags


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


def diff(
    base: str,
    opti: str | None = None,
    /,
    *,
    options: DiffFlags = DiffFlags(),
    inputs: InputFlags = InputFlags(),
    session: RuntimeFlags = RuntimeFlags(),
    output: TableFlags = TableFlags(),
) -> int:
    """Compare two models, two traces or two optimisation levels, node by node.

    For example:

        onnxperf diff model.onnx --opt-level disable,all

        onnxperf diff old.onnx new.onnx --dim batch=8 --plot diff.png

        onnxperf diff before.json after.json --xlsx diff.xlsx

    Parameters
    ----------
    base
        An ONNX file or a trace: the first side.
    opti
        An ONNX file or a trace: the second side; without it, two levels of the first are compared.
    """
    from msgspec.structs import replace

    from onnxperf.api.diff import diff as compare
    from onnxperf.render.profile import print_diff

    output.check()
    share = part(options.min_share, "min-share")
    with make_progress(output.quiet) as progress:
        result = compare(
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
    result.record = replace(result.record, command=shlex.join(["onnxperf", *sys.argv[1:]]))
    console = make_console(stderr=output.json == "-")
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        print_diff(result.record, console, min_share=share)
    output.keep(result.record, "diff")
    output.write(result, options.table)
    race = result.record.race
    if result.record.base.interrupted or (race is not None and race.interrupted):
        return INTERRUPTED
    return PARTIAL if race is not None and race.status != "ok" else 0
