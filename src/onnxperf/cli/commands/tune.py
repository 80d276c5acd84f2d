"""`onnxperf tune`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import (
    Flags,
    InputFlags,
    OptionalFile,
    PlaceFlags,
    Several,
    ToleranceFlags,
    keywords_of,
    pairs,
    part,
)
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import STEP_TIMEOUT_S


@Parameter(name="*", group=Group("Search", sort_key=0))
@dataclass(frozen=True)
class TuneFlags(Flags):
    """What is searched, and for how long."""

    only_here = ("calibrate",)

    time: float = 120.0
    """Seconds for everything: starting processes and opening sessions included."""
    goal: Literal["latency", "cpu", "memory"] = "latency"
    """What should become less: the time of a call, its CPU time, or the memory of the process."""
    call: str | None = None
    """Use this call style for all candidates and for the defaults [default: call styles are candidates, too]."""
    allow: Literal["approx"] | None = None
    """Also try what changes results a little: 8 and 16 bits, a faster Gelu. Their errors are shown."""
    max_error: float | None = None
    """Let approximate candidates win up to this error (largest difference / largest value of an output)."""
    calibrate: Annotated[Several, Parameter(metavar="NAME=FILE")] = field(default_factory=list)
    """Real data from which the ranges of 8-bit activations are found: X=file.npy. May be repeated."""
    save: OptionalFile = None
    """File for the settings of the winner, such as tuned.json; --variant @tuned.json uses it."""
    resume: str | None = None
    """Resume a tuning of the store by its id, or the last one; what it measured is kept."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {**super().keywords(), "calibration": pairs("calibrate", self.calibrate, Path) or None}


@Parameter(name="*", group=Group("Comparison", sort_key=1))
@dataclass(frozen=True)
class TuneComparisonFlags(ToleranceFlags):
    """How candidates are compared with the defaults."""

    min_effect: str = "1%"
    """Smallest gain that matters, such as 0.5%."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may need, such as 2GB or 512MB."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {**super().keywords(), "min_effect": part(self.min_effect)}


def tune(
    model: str,
    /,
    *,
    search: TuneFlags = TuneFlags(),
    comparison: TuneComparisonFlags = TuneComparisonFlags(),
    inputs: InputFlags = InputFlags(),
    where: PlaceFlags = PlaceFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Find the settings under which a model runs fastest, and prove it against onnxruntime's defaults.

    Keeping the defaults is an answer, too (exit code 0). If too few candidates were tried, there is no answer (exit
    code 3). Ctrl-C prints the best so far, unconfirmed.

    For example:

        onnxperf tune model.onnx

        onnxperf tune model.onnx --dim batch=8 --time 300 --save tuned.json -o tune.png

        onnxperf tune model.onnx --call run --goal cpu

        onnxperf tune model.onnx --on ray://head:10001

        onnxperf tune model.onnx --allow approx --max-error 0.02

        onnxperf bench model.onnx --variant @tuned.json --variant 'defaults: threads=8'

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    from onnxperf.api.tune import tune as find
    from onnxperf.results.tune import TuneResult

    keywords = keywords_of(search, comparison, inputs, where)
    return present(
        TuneResult,
        output,
        lambda progress: find(model, feeds=inputs.feeds(), progress=progress, store=output.store, **keywords),
    )
