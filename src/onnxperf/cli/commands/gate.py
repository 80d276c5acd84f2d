"""`onnxperf gate`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.functions import GATE, GateBaseline


@command(GATE, GateBaseline, *KEPT, common=("baseline", "max_slowdown", "max_memory", "undecided", "output"))
def gate(model: str, /, *, typed: Typed) -> int:
    """Pass or fail a new model in CI: compare it with the model before it.

    Exit code 0 means pass. Exit code 1 means fail: the model is slower or needs more memory than allowed, its outputs
    differ, or it does not run. Exit code 3 means undecided: this machine is too noisy to tell, or the control race of
    the baseline against itself failed.

    Examples
    --------
    # Fail if the new model is more than 3% slower
    onnxperf gate new.onnx --baseline old.onnx --max-slowdown 3%
    # Limit memory as well, and write the pages for the CI job
    onnxperf gate new.onnx --baseline old.onnx --max-memory 5% -o gate.md -o gate.xml
    # Compare with a record of an earlier run
    onnxperf gate new.onnx --baseline base.json --max-slowdown 10%
    # What does an update of onnxruntime cost?
    onnxperf gate model.onnx --baseline model.onnx --baseline-env onnxruntime==1.20.1

    Parameters
    ----------
    model
        The new model: an ONNX file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.gate import SHOW

    baseline = typed.own["baseline"]
    if baseline is None:
        raise BadOption("missing; name an ONNX file, a .json record or a saved run to compare with", option="baseline")
    return present(
        SHOW,
        typed.output,
        lambda progress: onnxperf.gate(model, baseline, progress=progress, **typed.keywords),
    )
