"""`onnxperf tune`."""

from __future__ import annotations

from onnxperf.cli.command import KEPT, File, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import TUNE


@command(TUNE, *KEPT, common=("dims", "time", "goal", "allow", "output"))
def tune(model: File, /, *, typed: Typed) -> int:
    """Search for faster settings, and confirm the best against the defaults.

    The settings that you give are part of the defaults, and the search keeps them. The result may be to keep the
    defaults (exit code 0). The exit code is 3 if there was too little time to try enough candidates.

    -o NAME.settings.json writes the best settings. The exit code is 3 if none beats the defaults. Ctrl-C prints the
    best so far, unconfirmed.

    Examples
    --------
    # Find the fastest settings in two minutes
    onnxperf tune model.onnx
    # Search longer, and write the settings
    onnxperf tune model.onnx --dim batch=8 --time 300 -o tuned.settings.json
    # Use those settings
    onnxperf bench model.onnx --variant @tuned.settings.json
    # Reduce CPU time, with one thread
    onnxperf tune model.onnx --threads 1 --goal cpu

    Parameters
    ----------
    model
        An ONNX file, or zoo:NAME.
    """
    import onnxperf
    from onnxperf.results.tune import SHOW

    return present(SHOW, typed.output, lambda progress: onnxperf.tune(model, progress=progress, **typed.keywords))
