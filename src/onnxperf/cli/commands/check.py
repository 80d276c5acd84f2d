"""`onnxperf check`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import CHECK


@command(CHECK, *KEPT, common=("dims", "runtime", "against", "nodes", "output"))
def check(*models: File, typed: Typed) -> int:
    """Compare the outputs of two models, of two runtimes, or of a model and its source.

    By default, a single model is compared in ort and numpy. The exit code is 1 if outputs differ, or if a side is not
    deterministic. -o NAME.npz writes the inputs and outputs of the first node that differs, and implies --nodes.

    Examples
    --------
    # Do two versions of a model agree?
    onnxperf check old.onnx new.onnx
    # Do two runtimes agree? If not, save the first node that differs
    onnxperf check model.onnx --runtime ort,reference -o node.npz
    # Does the model agree with its source on real inputs?
    onnxperf check model.onnx --against train.py:make_model --input X=x.npy

    Parameters
    ----------
    models
        One or two ONNX files, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.check import SHOW

    implied = {"nodes": True} if typed.output.named(".npz") is not None else {}
    keywords = {**typed.keywords, **implied}
    return present(SHOW, typed.output, lambda _progress: onnxperf.check(list(models), **keywords))
