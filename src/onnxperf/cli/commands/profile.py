"""`onnxperf profile`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import OUTPUT, File, Flags, InputFlags, OptionalFile, Switch, VariantFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.records.timeouts import LONG_TIMEOUT_S

if TYPE_CHECKING:
    from onnxperf.results.base import Result


@Parameter(name="*", group=Group("Profile", sort_key=0))
@dataclass(frozen=True)
class ProfileFlags(Flags):
    """How often the model runs, and what is shown."""

    only_here = ("top",)

    repeat: int | None = None
    """Profiled inferences, spread over 3 processes [default: as many as take about 1.5 s, 31 to 151]."""
    top: int = 10
    """Number of nodes, modules and groups to show."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (loading, a round of inferences) may take."""
    keep_trace: OptionalFile = None
    """Keep onnxruntime's own trace in this file; those of later processes get a number."""
    roofline: Switch = False
    """Add operations and bytes of each node, and how far from what this machine can do it is; measures the peaks of the
    machine first (about 3 s), unless they are known."""


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
    session: VariantFlags = VariantFlags(),
    output: ProfileOutputFlags = ProfileOutputFlags(),
) -> int:
    """Show where the time goes: per operator, per node, per module and per node of the original model.

    The model runs with onnxruntime's profiler in a process of its own; an existing trace is read as it is. Where a
    setting has several values, a table has a column for each.

    For example:

        onnxperf profile model.onnx --dim batch=8

        onnxperf profile model.onnx --opt-level disable --top 30 -o where.png

        onnxperf profile model.onnx --threads 1,2

        onnxperf profile model.onnx --roofline -o roofline.png

        onnxperf profile trace.json -o trace.xlsx

    Parameters
    ----------
    source
        An ONNX file, or a trace that onnxruntime wrote (.json).
    """
    from onnxperf.api._shared.variants import several_in

    keywords = keywords_of(options, inputs, session)
    if several_in(keywords):
        return _profile_variants(source, inputs, output, keywords)
    return _profile(source, inputs, output, keywords, options.top)


def _profile(source: str, inputs: InputFlags, output: ProfileOutputFlags, keywords: dict[str, Any], top: int) -> int:
    from onnxperf.api.profile import profile as measure
    from onnxperf.results.profile import ProfileResult

    own = {name: value for name, value in keywords.items() if name not in ("variants", "all_combinations")}
    return present(
        ProfileResult,
        output,
        lambda progress: measure(source, inputs.feeds(), progress=progress, **own),
        page=lambda result: result.page(top),
    )


def _profile_variants(source: str, inputs: InputFlags, output: ProfileOutputFlags, keywords: dict[str, Any]) -> int:
    from onnxperf.api.profile_variants import profile_variants as measure
    from onnxperf.results.profiles import ProfilesResult

    of_one = {name: keywords.pop(name, None) for name in ("keep_trace", "roofline")} | {"trace_out": output.trace_out}
    for name, given in of_one.items():
        if given:
            raise BadOption("several variants are profiled; this needs one of them", option=name)
    return present(
        ProfilesResult, output, lambda progress: measure(source, inputs.feeds(), progress=progress, **keywords)
    )
