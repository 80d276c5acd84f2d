"""`onnxperf tune`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import TUNE


@command(TUNE, *KEPT)
def tune(model: File, /, *, typed: Typed) -> int:
    """Find the settings under which a model runs fastest, and prove it against the defaults.

    The defaults are onnxruntime's, with the settings that you give. The search does not vary these.
    Keeping the defaults is an answer, too (exit code 0). If too few candidates were tried, there is no answer (exit
    code 3). -o NAME.settings.json writes the settings of the winner; exit code 3 if there is none. Ctrl-C prints the
    best so far, unconfirmed.

    For example:

        onnxperf tune model.onnx

        onnxperf tune model.onnx --dim batch=8 --time 300 -o tuned.settings.json -o tune.png

        onnxperf tune model.onnx --call run --goal cpu

        onnxperf tune model.onnx --threads 1 --option arena=off

        onnxperf tune model.onnx --variant @tuned.settings.json

        onnxperf tune model.onnx --on ray://head:10001

        onnxperf tune model.onnx --allow approx --max-error 2% --calibrate data.npz

        onnxperf bench model.onnx --variant @tuned.settings.json --variant 'defaults: threads=8'

    Parameters
    ----------
    model
        An ONNX file or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.tune import SHOW

    return present(SHOW, typed.output, lambda progress: onnxperf.tune(model, progress=progress, **typed.keywords))
