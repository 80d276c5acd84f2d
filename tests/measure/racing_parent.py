"""A race of three cheap callables that tells every step: somebody will kill it. Run as a script."""

from __future__ import annotations

from functools import partial

import cloudpickle

from onnxperf.measure.messages import Crew, FunctionSubject
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.race import Tools, race
from onnxperf.records import RaceOptions


def main() -> None:
    """Race 60 rounds with three launches, one line of output per step."""
    crews = [
        Crew(subjects=(FunctionSubject(name=name, function=cloudpickle.dumps(lambda: None)),), threads=1, feeds={})
        for name in "abc"
    ]
    tools = Tools(
        launch=partial(ProcessWorker, timeout_s=60.0),
        settled=lambda _subjects: False,
        progress=lambda _done, text: print(text, flush=True),
    )
    race(crews, RaceOptions(calls=1, time=0.6, warmup=0.0, min_effect=0.005), tools)


if __name__ == "__main__":
    main()
