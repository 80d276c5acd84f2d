"""A process that sweeps until a file exists: python sweeping_child.py STORE LABEL FILE, telling each case on stdout."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

from onnxperf.api._keeping import run_writer
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.store import retry, whole_run
from tests.render import examples

WHOLE = "whole run"


def main(where: str, label: str, end: Path) -> None:
    retry.PATIENCE_S, run_writer.REST_S = 0.3, 0.1  # a server that restarts is away for longer
    with RunWriter(where) as writer:
        recorder = RunRecorder(writer, label)
        recorder.plan(["0", "1", "2"], examples.machine())
        for number in itertools.count():
            recorder.begin(str(number))
            recorder.finish(str(number), examples.case(dims={"batch": number}))
            print(number, flush=True)
            if number == 4:
                writer.write(*whole_run(examples.bench(command=f"{WHOLE} of {label}"), "bench"))
            if end.exists():
                break
        recorder.result([], examples.machine())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
