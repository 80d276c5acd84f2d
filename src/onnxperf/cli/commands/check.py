"""`onnxperf check`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import CHECK


@command(CHECK, *KEPT)
def check(*models: File, typed: Typed) -> int:
    """Compare the results of two models, of two runtimes, or of a model and its source.

    By default, a single model is compared in ort and numpy. -o NAME.npz writes the inputs and outputs of the first
    node that differs, and implies --nodes. The exit code is 1 if results differ, or if a side is not deterministic.

    For example:

        onnxperf check model.onnx --dim batch=8

        onnxperf check old.onnx new.onnx

        onnxperf check model.onnx --runtime ort,reference -o node.npz

        onnxperf check model.onnx --against train.py:make_model --input X=x.npy

        onnxperf check zoo:tiny-bert --against torch

    Parameters
    ----------
    models
        An ONNX file or zoo:NAME, or two of them.
    """
    import onnxperf
    from onnxperf.results.check import SHOW

    implied = {"nodes": True} if typed.output.named(".npz") is not None else {}
    keywords = {**typed.keywords, **implied}
    return present(SHOW, typed.output, lambda _progress: onnxperf.check(list(models), **keywords))
