"""`onnxperf doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from onnxperf.cli.options import OUTPUT, CommonFlags
from onnxperf.cli.output import INTERRUPTED, make_console, make_progress, write_text


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class JsonOutput(CommonFlags):
    """Where the report goes."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the report as JSON; - is standard output, and then nothing else is printed there."""


def doctor(*, time: float = 6.0, threads: int | None = None, output: JsonOutput = JsonOutput()) -> int:
    """Say what this machine is, and how small a difference can be seen on it.

    For example:

        onnxperf doctor

        onnxperf doctor --time 20

    Parameters
    ----------
    time
        Seconds of racing a small model against itself.
    threads
        Threads of that model; 1 unless given.
    """
    from onnxperf.api.doctor import doctor as examine
    from onnxperf.render.race.console import doctor_report

    with make_progress(output.quiet) as progress:
        result = examine(time=time, threads=threads, progress=progress)
    console = make_console(stderr=output.json == "-")
    if output.quiet:
        console.print(result.sentence, markup=False, soft_wrap=True)
    else:
        console.print(doctor_report(result.machine, result.facts, result.sentence, console.encoding))
    if output.json is not None:
        write_text(output.json, result.to_json())
    return INTERRUPTED if result.interrupted else 0
