"""`onnxperf bench`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.commands.sweep import present_cases
from onnxperf.options.functions import BENCH


@command(BENCH, *KEPT, common=("dims", "call", "threads", "time", "output"))
def bench(*models: File, typed: Typed) -> int:
    """Time models, or race them against each other.

    The first subject is the baseline. The outputs of all subjects are compared before the race.

    Examples
    --------
    # How fast is this model for batches of 8?
    onnxperf bench model.onnx --dim batch=8
    # Is the new version faster than the old one?
    onnxperf bench old.onnx new.onnx
    # Which way of calling onnxruntime is fastest? Draw a chart
    onnxperf bench model.onnx --call all -o calls.png
    # Is it faster than its source in torch, Keras or scikit-learn?
    onnxperf bench model.onnx --against train.py:make_model --dim batch=1,8

    Parameters
    ----------
    models
        ONNX files, or zoo:NAME (resnet50, bert-base, tiny-resnet, tiny-bert, tiny-linear).
    """
    import onnxperf

    return present_cases(typed, lambda progress: onnxperf.bench(list(models), progress=progress, **typed.keywords))
