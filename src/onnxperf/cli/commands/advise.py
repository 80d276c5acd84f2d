"""`onnxperf advise`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import ADVISE


@command(ADVISE, *KEPT)
def advise(model: File, /, *, typed: Typed) -> int:
    """Find what costs time or memory in a model, try remedies, and show what each gave.

    Everything is compared with the session that the options describe [default: onnxruntime's defaults].
    -o FILE.onnx writes the model with the rewrite that gained most; exit code 3 if none did.

    For example:

        onnxperf advise model.onnx

        onnxperf advise model.onnx --dim batch=8 --time 120

        onnxperf advise model.onnx --variant @tuned.settings.json

        onnxperf advise model.onnx --input X=real.npy --cast -o advice.md -o speedups.png

        onnxperf advise model.onnx -o rewritten.onnx

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.advise import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.advise(model, output=path, progress=progress, **typed.keywords),
    )
