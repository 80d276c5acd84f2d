"""`onnxperf optimize`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from onnxperf.cli.options import SessionFlags, Switch
from onnxperf.cli.output import JsonOutput, make_console, write_text


def optimize(
    model: str,
    /,
    *,
    output: Annotated[str, Parameter(name=["--output", "-o"])],
    all_: Annotated[Switch, Parameter(name="--all")] = False,
    timeout: float = 600.0,
    session: SessionFlags = SessionFlags(),
    report: JsonOutput = JsonOutput(),
) -> int:
    """Write the model that onnxruntime really executes, and say which nodes became which.

    For example:

        onnxperf optimize model.onnx -o optimised.onnx

        onnxperf optimize model.onnx -o basic.onnx --opt-level basic --all

    Parameters
    ----------
    model
        An ONNX file.
    output
        File for the optimised model; weights of a large one go into a file beside it.
    all_
        Show every group of nodes, however many there are.
    timeout
        Seconds that loading may take.
    """
    from onnxperf.api.optimize import optimize as write
    from onnxperf.render.profile.profile import print_optimization

    result = write(model, output, timeout=timeout, **session.keywords())
    console = make_console(stderr=report.json == "-")
    if report.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        print_optimization(result.record, console, everything=all_)
    if report.json is not None:
        write_text(report.json, result.to_json())
    return 0
