"""`onnxperf doctor`."""

from __future__ import annotations

from onnxperf.cli.command import WRITTEN, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import DOCTOR


@command(DOCTOR, *WRITTEN)
def doctor(*, typed: Typed) -> int:
    """Describe this machine, and show how small a difference it can measure.

    --time is the length of the race of a small model against itself.

    For example:

        onnxperf doctor

        onnxperf doctor --quick

        onnxperf doctor --time 20
    """
    import onnxperf
    from onnxperf.results.doctor import SHOW

    return present(SHOW, typed.output, lambda progress: onnxperf.doctor(progress=progress, **typed.keywords))
