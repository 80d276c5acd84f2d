"""`onnxperf gate`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.functions import GATE, GateBaseline


@command(GATE, GateBaseline, *KEPT)
def gate(model: str, /, *, typed: Typed) -> int:
    """Decide in CI whether a model may replace the one before it.

    Exit code 0: it may. 1: it is slower, or needs more memory, beyond the limit and the noise; its outputs differ; or
    it does not run. 3: that cannot be told on this machine, or the control failed: the baseline against itself.

    For example:

        onnxperf gate new.onnx --baseline old.onnx --max-slowdown 3%

        onnxperf gate new.onnx --baseline old.onnx --max-memory 5% -o gate.md -o gate.xml

        onnxperf gate new.onnx --baseline old.onnx --dim batch=1,8 --undecided pass

        onnxperf gate new.onnx --baseline base.json --max-slowdown 10%

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
        raise BadOption("name what to compare with: an ONNX file, a .json record, or a run", option="baseline")
    return present(
        SHOW,
        typed.output,
        lambda progress: onnxperf.gate(model, baseline, progress=progress, **typed.keywords),
    )
