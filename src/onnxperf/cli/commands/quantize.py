"""`onnxperf quantize`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from typing import Annotated, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, Flags, InputFlags, SessionFlags, keywords_of, part
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import LONG_TIMEOUT_S


@Parameter(name="*", group=Group("Quantisation", sort_key=0))
@dataclass(frozen=True)
class QuantizationFlags(Flags):
    """How ways to quantise are compared."""

    calibrate: Annotated[
        list[File], Parameter(negative=(), show_default=False, consume_multiple=False, metavar="FILE.npz")
    ] = field(default_factory=list)
    """Real inputs: a .npz file with an array for each input, calls or rows of a batch along the first axis. May be
    repeated. Without it, inputs are random, those of the calibration included, and errors on them prove little."""
    max_error: str = "10%"
    """Largest relative error of an output that is accepted."""
    time: float = 120.0
    """Seconds for all of it, quantising included."""
    min_effect: str = "1%"
    """Smallest difference that matters, such as 0.5%."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (quantising, loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may need, such as 2GB or 512MB."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        return {
            **super().keywords(),
            "calibrate": list(self.calibrate) or None,
            "max_error": part(self.max_error, "max-error"),
            "min_effect": part(self.min_effect),
        }


def quantize(
    model: str,
    /,
    *,
    quantization: QuantizationFlags = QuantizationFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Quantise a model to int8, and say what that wins or loses: by layer, in time and in accuracy.

    The .onnx file among --output is the quantised model. It is not written if int8 is slower than float32.

    For example:

        onnxperf quantize model.onnx --calibrate data.npz -o int8.onnx

        onnxperf quantize model.onnx --dim batch=8 --time 60 -o layers.png

        onnxperf quantize model.onnx --calibrate data.npz --max-error 2% --table ways -o ways.csv

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    from onnxperf.api.quantize import quantize as write
    from onnxperf.results.quantize import QuantizeResult

    path, reports = output.with_optional_model()
    keywords = keywords_of(quantization, inputs, session)
    return present(
        QuantizeResult,
        reports,
        lambda progress: write(model, path, feeds=inputs.feeds(), progress=progress, **keywords),
    )
