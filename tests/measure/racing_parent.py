"""A race of three cheap callables that prints every step, to be killed in between. Run as a script."""

from __future__ import annotations

from functools import partial

import cloudpickle

from onnxperf.measure.machine.describe import processors
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.race import Tools, race
from onnxperf.records.options import RaceOptions


def main() -> None:
    """Race 30 rounds in several launches; every step is a line of output."""
    specs = [
        WorkerSpec(
            subjects=(FunctionSubject(name=name, function=cloudpickle.dumps(lambda: None)),), threads=1, feeds={}
        )
        for name in "abc"
    ]
    tools = Tools(
        launch=partial(ProcessWorker, timeout_s=60.0),
        settled=lambda _subjects: False,
        progress=lambda _done, text: print(text, flush=True),
        cpus=processors(),
    )
    # So much time that even on a slow machine launches are cheap.
    race(specs, RaceOptions(calls_per_block=1, blocks=30, time=600.0, warmup=0.0), tools)


if __name__ == "__main__":
    main()
