"""`onnxperf bisect`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from typing import Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import Flags, InputFlags, Several, Switch, ToleranceFlags, VariantFlags, keywords_of, part
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.records.timeouts import STEP_TIMEOUT_S


@Parameter(name="*", group=Group("Search", sort_key=0))
@dataclass(frozen=True)
class CandidateFlags(Flags):
    """Where a change is searched; one of the first four."""

    only_here = ("releases", "optimizers", "options", "nodes")

    releases: Several = field(default_factory=list)
    """Along releases: a range such as onnxruntime==1.20..1.31, which includes all final ones, or a list of them."""
    optimizers: Switch = False
    """Along the graph optimisers of onnxruntime, which are switched on one after the other."""
    options: Switch = False
    """Along the settings in which two --variant differ; without variants, along settings that are worth trying."""
    nodes: Switch = False
    """Among the nodes of the model, where two values of a setting (--env, --opt-level, --option, --variant) are the
    sides; -o part.onnx writes the smallest part that still shows the difference, with random weights."""
    by: Literal["time", "accuracy", "memory"] = "time"
    """What is compared."""
    change: Literal["any", "worse", "better"] = "any"
    """Which change is searched: any, only a worse one (slower, more memory), only a better one."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        chosen = [name for name in self.only_here if getattr(self, name)]
        if len(chosen) != 1:
            raise BadOption("choose one of --releases, --optimizers, --options and --nodes")
        return {**super().keywords(), "over": chosen[0], "releases": ",".join(self.releases) or None}


@Parameter(name="*", group=Group("Comparison", sort_key=1))
@dataclass(frozen=True)
class BisectionFlags(ToleranceFlags):
    """How two candidates are compared."""

    time: float | None = None
    """Seconds of each race; 9, or as many as five launches or 20 rounds need, unless given."""
    min_effect: str = "1%"
    """Smallest difference that matters, such as 0.5%."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may need, such as 2GB or 512MB."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {**super().keywords(), "min_effect": part(self.min_effect)}


def bisect(
    model: str,
    /,
    *,
    search: CandidateFlags = CandidateFlags(),
    comparison: BisectionFlags = BisectionFlags(),
    inputs: InputFlags = InputFlags(),
    session: VariantFlags = VariantFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Find the release, graph optimiser, setting or nodes that make a model slower or faster.

    Exit code 3 when that stays undecided, or when the difference is not there again.

    For example:

        onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31

        onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31 --by accuracy

        onnxperf bisect model.onnx --optimizers --change worse

        onnxperf bisect model.onnx --options --variant 'a: threads=1' --variant 'b: threads=1, arena=off, mem_reuse=off'

        onnxperf bisect model.onnx --nodes --env onnxruntime==1.20.1,onnxruntime==1.21.0 -o part.onnx

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    from onnxperf.api.bisect import bisect as find
    from onnxperf.results.bisect import BisectResult

    path, reports = output.with_optional_model()
    keywords = keywords_of(search, comparison, inputs, session)
    return present(
        BisectResult,
        reports,
        lambda progress: find(model, output=path, feeds=inputs.feeds(), progress=progress, **keywords),
    )
