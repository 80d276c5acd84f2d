"""`onnxperf profile`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import OUTPUT, File, Flags, InputFlags, OptionalFile, SessionFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from onnxperf.results.base import Result


@Parameter(name="*", group=Group("Profile", sort_key=0))
@dataclass(frozen=True)
class ProfileFlags(Flags):
    """How often the model runs, and what is shown."""

    only_here = ("top",)

    repeat: int | None = None
    """Inferences in the trace; as many as take about a second (5 to 100) unless given."""
    top: int = 10
    """Number of nodes, modules and groups to show."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (loading, a round of inferences) may take."""
    keep_trace: OptionalFile = None
    """Keep onnxruntime's own trace in this file."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class ProfileOutputFlags(KeptOutputFlags):
    """Files to write, a trace for Perfetto among them."""

    trace_out: OptionalFile = None
    """Write the trace for Perfetto (ui.perfetto.dev) or chrome://tracing, one track per thread; so does
    --output FILE.perfetto.json."""

    def files(self, kind: "type[Result[Any]]") -> Iterator[tuple[str, str]]:
        """Paths, and the suffixes that say what each file holds."""
        yield from super().files(kind)
        if self.trace_out is not None:
            yield self.trace_out, ".perfetto.json"


def profile(
    source: File,
    /,
    *,
    options: ProfileFlags = ProfileFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: ProfileOutputFlags = ProfileOutputFlags(),
) -> int:
    """Show where the time goes: per operator, per node, per module and per node of the original model.

    The model runs with onnxruntime's profiler in a process of its own; an existing trace is read as it is.

    For example:

        onnxperf profile model.onnx --dim batch=8

        onnxperf profile model.onnx --opt-level disable --top 30 -o where.png

        onnxperf profile trace.json -o trace.xlsx

    Parameters
    ----------
    source
        An ONNX file, or a trace that onnxruntime wrote (.json).
    """
    from onnxperf.api.profile import profile as measure
    from onnxperf.results.profile import ProfileResult

    return present(
        ProfileResult,
        output,
        lambda progress: measure(
            source,
            inputs.feeds(),
            progress=progress,
            **keywords_of(options, inputs, session),
        ),
        page=lambda result: result.page(options.top),
    )
