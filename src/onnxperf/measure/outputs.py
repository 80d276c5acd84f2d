"""Outputs of a subject, fetched from its worker; large values are in a file that both processes have open."""

from __future__ import annotations

import contextlib
from typing import Any

from onnxperf.measure.messages import Compute, outputs_in
from onnxperf.measure.process import Worker
from onnxperf.measure.shared import CAN_SHARE, map_file, new_file


def compute(worker: Worker, subject: int, everything: bool = False) -> tuple[list[str], Any]:
    """Names and values of a call's outputs; with `everything`, also of intermediate tensors."""
    file = None
    if CAN_SHARE:
        with contextlib.suppress(OSError):  # no space for a file: messages need more memory, but work
            file = new_file()
    computed = worker.ask(Compute(subject, everything, file))
    return outputs_in(computed, {} if file is None else {file.handle: map_file(file.handle)})
