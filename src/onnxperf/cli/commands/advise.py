"""`onnxperf advise`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from typing import Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, SessionFlags, ToleranceFlags, keywords_of, part
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import STEP_TIMEOUT_S


@Parameter(name="*", group=Group("Trials", sort_key=0))
@dataclass(frozen=True)
class TrialFlags(ToleranceFlags):
    """How long remedies are tried, and what counts as a gain."""

    time: float = 60.0
    """Seconds of both races of trials; where calls are slow, opening sessions takes as long again."""
    min_effect: str = "1%"
    """Smallest difference that matters, such as 0.5%."""
    warmup: float = 0.1
    """Seconds of untimed calls before a trial is measured."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may need, such as 2GB or 512MB."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {**super().keywords(), "min_effect": part(self.min_effect)}


def advise(
    model: str,
    /,
    *,
    trials: TrialFlags = TrialFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Find what costs time or memory in a model, try remedies, and show what each gave.

    Everything is compared with the session that the options describe: onnxruntime's defaults unless given.
    -o FILE.onnx writes the model with the rewrite that gained most; exit code 3 where none did.

    For example:

        onnxperf advise model.onnx

        onnxperf advise model.onnx --dim batch=8 --time 120

        onnxperf advise model.onnx --input X=real.npy --cast -o advice.md -o speedups.png

        onnxperf advise model.onnx -o rewritten.onnx

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    from onnxperf.api.advise import advise as find
    from onnxperf.results.advise import AdviseResult

    path, reports = output.with_optional_model()
    keywords = keywords_of(trials, inputs, session)
    return present(
        AdviseResult,
        reports,
        lambda progress: find(model, output=path, feeds=inputs.feeds(), progress=progress, **keywords),
    )
