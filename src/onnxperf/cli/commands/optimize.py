"""`onnxperf optimize`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, Flags, SessionFlags, Switch, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import LONG_TIMEOUT_S


@Parameter(name="*", group=Group("Optimisation", sort_key=0))
@dataclass(frozen=True)
class OptimizeFlags(Flags):
    """What is shown, and how long it may take."""

    only_here = ("all_",)

    all_: Annotated[Switch, Parameter(name="--all")] = False
    """Show every group of nodes, without a limit."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that loading may take."""


def optimize(
    model: File,
    /,
    *,
    options: OptimizeFlags = OptimizeFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Write the model that onnxruntime really executes, and say which nodes became which.

    The .onnx file among --output is the optimised model; weights of a large one go into a file beside it.

    For example:

        onnxperf optimize model.onnx -o optimised.onnx

        onnxperf optimize model.onnx -o basic.onnx -o basic.json --opt-level basic --all

    Parameters
    ----------
    model
        An ONNX file.
    """
    from onnxperf.api.optimize import optimize as write
    from onnxperf.results.optimize import OptimizeResult

    path, reports = output.without_model()
    return present(
        OptimizeResult,
        reports,
        lambda _progress: write(model, path, **keywords_of(options, session)),
        page=lambda result: result.page(options.all_),
    )
