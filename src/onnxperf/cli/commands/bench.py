"""`onnxperf bench`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.commands.sweep import present_cases
from onnxperf.options.functions import BENCH


@command(BENCH, *KEPT)
def bench(*models: File, typed: Typed) -> int:
    """Time models, and race the ways of running them.

    The first subject is the baseline; several MODELS race each other, and their outputs are compared first.

    For example:

        onnxperf bench model.onnx --dim batch=8

        onnxperf bench model.onnx --call all -o calls.png

        onnxperf bench old.onnx new.onnx --shape X=1000x10 --time 20

        onnxperf bench old.onnx new.onnx --max-slowdown 5%

        onnxperf bench model.onnx quantized.onnx --no-check

        onnxperf bench model.onnx --runtime ort,reference --json result.json

        onnxperf bench model.onnx --threads 1,2 --option session.intra_op.allow_spinning=0,1

        onnxperf bench model.onnx --env onnxruntime==1.20.1,onnxruntime==1.31.1

        onnxperf bench model.onnx --call run,run-c --count instructions

        onnxperf bench model.onnx --variant 'usual: call=run' --variant 'lean: threads=1, arena=off, call=io-binding'

        onnxperf bench model.onnx --every 50ms --threads 2

        onnxperf bench model.onnx --against train.py:make_model --dim batch=1,2,4,8

        onnxperf bench zoo:tiny-bert --against torch --dim batch=1,4 --dim seq=10,50

        onnxperf bench model.onnx --dim batch=1,2,4 --on ray://head:10001 --each-node

    Parameters
    ----------
    models
        ONNX files, or zoo:NAME: resnet50, bert-base, tiny-resnet, tiny-bert, tiny-linear.
    """
    import onnxperf

    return present_cases(typed, lambda progress: onnxperf.bench(list(models), progress=progress, **typed.keywords))
