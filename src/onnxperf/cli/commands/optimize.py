"""`onnxperf optimize`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import OPTIMIZE
from onnxperf.options.output import Everything


@command(OPTIMIZE, Everything, *KEPT, common=("output", "opt_level", "provider", "threads", "all"))
def optimize(model: File, /, *, typed: Typed) -> int:
    """Write the model that onnxruntime really runs, and show which nodes became which.

    One of the -o files must be an .onnx file. The weights of a large model go into a file next to it.

    Examples
    --------
    # Write the optimized model
    onnxperf optimize model.onnx -o optimized.onnx
    # Stop at an earlier level, and list all changes
    onnxperf optimize model.onnx -o basic.onnx -o basic.json --opt-level basic --all

    Parameters
    ----------
    model
        An ONNX file.
    """
    import onnxperf
    from onnxperf.results.optimize import SHOW

    path, reports = typed.output.without_model()
    return present(
        SHOW,
        reports,
        lambda _progress: onnxperf.optimize(model, path, **typed.keywords),
        page=lambda result: result.page(typed.own["all"]),
    )
