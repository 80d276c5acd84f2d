"""What a subject computes, brought from its worker: large values lie in a file that both have open."""

from __future__ import annotations

import contextlib
from typing import Any

from onnxperf.measure.messages import Compute, outputs_in
from onnxperf.measure.process import Worker
from onnxperf.measure.shared import CAN_SHARE, map_file, new_file


def compute(worker: Worker, subject: int, everything: bool = False) -> tuple[list[str], Any]:
    """Names and values that a call returns; with `everything`, also of what lies between inputs and outputs."""
    file = None
    if CAN_SHARE:
        with contextlib.suppress(OSError):  # no room for a file: as messages, they need more memory, but arrive
            file = new_file()
    computed = worker.ask(Compute(subject, everything, file))
    return outputs_in(computed, {} if file is None else {file.handle: map_file(file.handle)})
