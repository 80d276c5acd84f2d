"""`onnxperf convert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.cli.command import WRITTEN, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import CONVERT, Forcing

if TYPE_CHECKING:
    from onnxperf.results.convert import ConvertResult


@command(CONVERT, Forcing, *WRITTEN, common=("output", "dims", "feeds", "dynamic", "opset"))
def convert(source: File, /, *, typed: Typed) -> int:
    """Convert a model of scikit-learn, torch, Keras or TensorFlow to ONNX, and verify its outputs.

    One of the -o files must be an .onnx file. The weights of a large model go into a file next to it. If the outputs
    differ from those of the source, the model is not written and the exit code is 1.

    Examples
    --------
    # Convert a torch model, and name its free dimensions
    onnxperf convert train.py:make_model -o model.onnx --dynamic ids.0=batch,ids.1=seq
    # Convert a scikit-learn pipeline, and verify it on real inputs
    onnxperf convert train.py:make_pipeline -o model.onnx --input X=x.npy --converter-option zipmap=false
    # Convert a saved_model, and write a report
    onnxperf convert saved_model_folder -o model.onnx -o report.json --dim batch=4

    Parameters
    ----------
    source
        FILE.py:function or module:function that returns the model, or the model and sample inputs. Also the name of a
        model there, a .pt2 or .keras file, or a saved_model folder.
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
