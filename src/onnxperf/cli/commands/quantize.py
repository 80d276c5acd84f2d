"""`onnxperf quantize`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import QUANTIZE


@command(QUANTIZE, *KEPT, common=("calibrate", "max_error", "time", "dims", "output"))
def quantize(model: File, /, *, typed: Typed) -> int:
    """Quantize a model to int8, and measure the gain and the error of each layer.

    -o FILE.onnx writes the quantized model. If int8 is slower than float32, the model is not written and the exit code
    is 3. Without --calibrate, all inputs are random, and the measured errors say little about real data.

    Examples
    --------
    # Quantize with real inputs, and write the model
    onnxperf quantize model.onnx --calibrate data.npz -o int8.onnx
    # Draw the gain of each layer
    onnxperf quantize model.onnx --dim batch=8 --time 60 -o layers.png
    # Allow an error of 2%, and write the table of candidates
    onnxperf quantize model.onnx --calibrate data.npz --max-error 2% --table ways -o ways.csv

    Parameters
    ----------
    model
        An ONNX file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.quantize import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.quantize(model, output=path, progress=progress, **typed.keywords),
    )
