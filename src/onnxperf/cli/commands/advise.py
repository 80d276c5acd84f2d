"""`onnxperf advise`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import ADVISE


@command(ADVISE, *KEPT, common=("dims", "time", "threads", "variants", "output"))
def advise(model: File, /, *, typed: Typed) -> int:
    """Find what costs time or memory in a model, and measure what each fix gains.

    All fixes are compared with the session that you set with --threads, --option or --variant [default: onnxruntime's
    defaults]. -o FILE.onnx writes the model with the rewrite that gains most. The exit code is 3 if no rewrite helps.

    Examples
    --------
    # What would make this model faster?
    onnxperf advise model.onnx
    # Use the real batch size, and more time to prove small gains
    onnxperf advise model.onnx --dim batch=8 --time 120
    # Write the faster model, and a page about it
    onnxperf advise model.onnx -o faster.onnx -o advice.md
    # Use real inputs, and cast them to the type of the model
    onnxperf advise model.onnx --input X=real.npy --cast

    Parameters
    ----------
    model
        An ONNX file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.advise import SHOW

    path, reports = typed.output.with_optional_model()
    return present(
        SHOW,
        reports,
        lambda progress: onnxperf.advise(model, output=path, progress=progress, **typed.keywords),
    )
