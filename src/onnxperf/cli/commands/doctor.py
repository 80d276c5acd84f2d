"""`onnxperf doctor`."""

from __future__ import annotations

from onnxperf.cli.options import Switch
from onnxperf.cli.present import OutputFlags, present


def doctor(
    *,
    quick: Switch = False,
    time: float | None = None,
    threads: int | None = None,
    output: OutputFlags = OutputFlags(),
) -> int:
    """Describe this machine, and show how small a difference it can measure.

    For example:

        onnxperf doctor

        onnxperf doctor --quick

        onnxperf doctor --time 20

    Parameters
    ----------
    quick
        Only describe the machine: no race, under two seconds.
    time
        Seconds of racing a small model against itself; 9 unless given, as in a bench.
    threads
        Threads of that model; 1 unless given.
    """
    from onnxperf.api.doctor import doctor as examine
    from onnxperf.results.doctor import DoctorResult

    length = {} if time is None else {"time": time}
    return present(
        DoctorResult, output, lambda progress: examine(**length, threads=threads, quick=quick, progress=progress)
    )
