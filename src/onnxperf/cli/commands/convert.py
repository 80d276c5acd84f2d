"""`onnxperf convert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.cli.command import WRITTEN, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import CONVERT, Forcing

if TYPE_CHECKING:
    from onnxperf.results.convert import ConvertResult


@command(CONVERT, Forcing, *WRITTEN)
def convert(source: File, /, *, typed: Typed) -> int:
    """Convert a model of scikit-learn, torch, Keras or TensorFlow to ONNX, and check it against its source.

    One of the files must end with .onnx; weights of a large model go into a file next to it. If the results differ,
    the model is not written and the exit code is 1.

    For example:

        onnxperf convert train.py:make_model -o model.onnx --dynamic ids.0=batch,ids.1=seq

        onnxperf convert train.py:make_pipeline -o model.onnx --input X=x.npy --converter-option zipmap=false

        onnxperf convert saved_model_folder -o model.onnx -o report.json --dim batch=4

    Parameters
    ----------
    source
        A function that returns the model, or the model and a sample of its inputs: FILE.py:function or
        module:function; the name of a model there; a .pt2 or .keras file; or the folder of a saved_model.
    """
    import onnxperf
    from onnxperf.results.convert import SHOW

    typed.output.check(SHOW)
    path, reports = typed.output.without_model()
    force: bool = typed.own["force"]

    def converted() -> ConvertResult:
        """Convert and write: the page says where the model is."""
        result = onnxperf.convert(source, **typed.keywords)
        if result.equal or force:
            result.save(path, force=force)
        return result

    return present(SHOW, reports, lambda _progress: converted())
