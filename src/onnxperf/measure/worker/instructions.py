"""Calls counted by valgrind; the worker marks where they begin and end."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from itertools import repeat
from typing import TYPE_CHECKING

from onnxperf.errors import SubjectError
from onnxperf.measure.messages import Counted, CountInstructions

if TYPE_CHECKING:
    from onnxperf.measure.worker.host import Host

_RUNNING_ON_VALGRIND = 0x1001
_CALLGRIND = ord("C") << 24 | ord("T") << 16
_DUMP = _CALLGRIND
_START = _CALLGRIND + 4


def answer_count(host: Host, request: CountInstructions) -> Counted:
    """Have callgrind write the instruction counts of a subject's calls."""
    library = ctypes.CDLL(request.library)
    ask = library.onnxperf_request
    ask.argtypes, ask.restype = [ctypes.c_ulong, ctypes.c_ulong], ctypes.c_ulong
    if not ask(_RUNNING_ON_VALGRIND, 0):
        raise SubjectError("failed", "the worker does not run under valgrind")
    library.onnxperf_instruction_set.restype = ctypes.c_char_p
    ask(_START, 0)
    count(host.calls[request.subject], request.calls, request.warm, lambda: ask(_DUMP, 0))
    return Counted(library.onnxperf_instruction_set().decode())


def count(work: Callable[[], object], calls: int, warm: int, dump: Callable[[], object]) -> None:
    """Make warm-up calls, then none, then the counted calls, with a dump after each; every dump resets the counts."""
    gc.collect()
    gc.disable()
    try:
        for number in (warm, 0, calls):
            for _ in repeat(None, number):
                work()
            dump()
    finally:
        gc.enable()
