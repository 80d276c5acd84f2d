"""`onnxperf bisect`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import BISECT


@command(BISECT, *KEPT, common=("releases", "optimizers", "settings", "nodes", "by"))
def bisect(model: File, /, *, typed: Typed) -> int:
    """Find the release, graph optimizer, setting or nodes that make a model slower or faster.

    Choose one search: --releases, --optimizers, --settings or --nodes. The exit code is 3 if the search stays
    undecided, or if the difference does not appear again.

    Examples
    --------
    # Which release of onnxruntime changed the time?
    onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31
    # Which release changed the outputs?
    onnxperf bisect model.onnx --releases onnxruntime==1.20..1.31 --by accuracy
    # Which graph optimizer makes the model slower?
    onnxperf bisect model.onnx --optimizers --change worse
    # Write the smallest part that shows the difference
    onnxperf bisect model.onnx --nodes --env onnxruntime==1.20.1,onnxruntime==1.21.0 -o part.onnx

    Parameters
    ----------
    model
        An ONNX file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.bisect import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.bisect(model, output=path, progress=progress, **typed.keywords),
    )
