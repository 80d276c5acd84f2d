"""`onnxperf profile`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, SessionFlags
from onnxperf.cli.output import INTERRUPTED, command_line, make_console, make_progress
from onnxperf.cli.tables import TableFlags

PROFILE = Group("Profile", sort_key=0)


@Parameter(name="*", group=PROFILE)
@dataclass(frozen=True)
class ProfileFlags:
    """How often the model runs, and what is shown."""

    repeat: int | None = None
    """Inferences in the trace; as many as take about a second (5 to 100) unless given."""
    top: int = 10
    """Nodes to show."""
    timeout: float = 600.0
    """Seconds that one step (loading, a round of inferences) may take."""
    keep_trace: str | None = None
    """Keep onnxruntime's own trace in this file."""
    trace_out: str | None = None
    """Write the trace for Perfetto (ui.perfetto.dev) or chrome://tracing, one track per thread."""
    table: Literal["operators", "nodes", "sources", "iterations", "events"] = "nodes"
    """The table that --csv and --parquet write."""


def profile(
    source: str,
    /,
    *,
    options: ProfileFlags = ProfileFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: TableFlags = TableFlags(),
) -> int:
    """Show where the time goes: per operator, per node, per node of the original model.

    The model runs with onnxruntime's profiler in a process of its own; an existing trace is read as it is.

    For example:

        onnxperf profile model.onnx --dim batch=8

        onnxperf profile model.onnx --opt-level disable --top 30 --plot where.png

        onnxperf profile trace.json --xlsx trace.xlsx

    Parameters
    ----------
    source
        An ONNX file, or a trace that onnxruntime wrote (.json).
    """
    from msgspec.structs import replace

    from onnxperf.api.profile import profile as measure
    from onnxperf.render.profile.profile import print_profile

    output.check(options.keep_trace, options.trace_out)
    with make_progress(output.quiet) as progress:
        result = measure(
            source,
            inputs.feeds(),
            repeat=options.repeat,
            keep_trace=options.keep_trace,
            timeout=options.timeout,
            progress=progress,
            **inputs.keywords(),
            **session.keywords(),
        )
    result.record = replace(result.record, command=command_line())
    console = make_console(stderr=output.json == "-")
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        print_profile(result.record, console, top=options.top)
    output.keep(result.record, "profile")
    output.write(result, options.table)
    if options.trace_out is not None:
        result.save_trace(options.trace_out)
    return INTERRUPTED if result.record.interrupted else 0
