"""`onnxperf quantize`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import QUANTIZE


@command(QUANTIZE, *KEPT)
def quantize(model: File, /, *, typed: Typed) -> int:
    """Quantize a model to int8, and say what that wins or loses: by layer, in time and in accuracy.

    -o FILE.onnx writes the quantized model. It is not written if int8 is slower than float32 (exit code 3).
    Without --calibrate, inputs are random, those of the calibration included, and errors on them prove little.

    For example:

        onnxperf quantize model.onnx --calibrate data.npz -o int8.onnx

        onnxperf quantize model.onnx --dim batch=8 --time 60 -o layers.png

        onnxperf quantize model.onnx --calibrate data.npz --max-error 2% --table ways -o ways.csv

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.quantize import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.quantize(model, output=path, progress=progress, **typed.keywords),
    )
