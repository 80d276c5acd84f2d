"""`onnxperf doctor`."""

from __future__ import annotations

from onnxperf.cli.command import WRITTEN, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import DOCTOR


@command(DOCTOR, *WRITTEN, common=("quick", "time", "threads", "json"))
def doctor(*, typed: Typed) -> int:
    """Describe this machine, and show how small a difference it can measure.

    A small model races against itself for --time seconds.

    Examples
    --------
    # Measure the noise and the peaks of this machine
    onnxperf doctor
    # Only list the facts, without a race
    onnxperf doctor --quick
    # Race longer to detect smaller differences
    onnxperf doctor --time 20
    """
    import onnxperf
    from onnxperf.results.doctor import SHOW

    return present(SHOW, typed.output, lambda progress: onnxperf.doctor(progress=progress, **typed.keywords))
