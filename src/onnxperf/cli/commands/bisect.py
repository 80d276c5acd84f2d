"""`onnxperf bisect`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import BISECT


@command(BISECT, *KEPT)
def bisect(model: File, /, *, typed: Typed) -> int:
    """Find the release, graph optimizer, setting or nodes that make a model slower or faster.

    Give one of --releases, --optimizers, --settings and --nodes.
    Exit code 3 if it stays undecided, or if the difference is not there when repeated.

    For example:

        onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31

        onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31 --by accuracy

        onnxperf bisect model.onnx --optimizers --change worse

        onnxperf bisect model.onnx --settings --variant 'a: threads=1' --variant @tuned.settings.json

        onnxperf bisect model.onnx --nodes --env onnxruntime==1.20.1,onnxruntime==1.21.0 -o part.onnx

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.bisect import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.bisect(model, output=path, progress=progress, **typed.keywords),
    )
