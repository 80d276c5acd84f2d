"""The child's side: a process that hosts subjects, answers requests in sequence, and exits with its parent."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import sys
from pathlib import Path

from onnxperf.measure.messages import QUANTIZER, READER, Ready, decode_request, encode, handles_of
from onnxperf.measure.shared import receive_file
from onnxperf.measure.worker.host import Host
from onnxperf.measure.worker.pipe import open_pipe
from onnxperf.runtimes.find import find_runtime

_PR_SET_PDEATHSIG = 1


def serve(handle: int, parent: int, runtime: str) -> None:
    """Answer requests from a pipe until the parent closes it."""
    die_with(parent)
    _be_the_first_to_go_when_memory_ends()
    pipe = open_pipe(handle)
    if hasattr(os, "register_at_fork"):
        # A child forked by a subject would keep the pipe open and hide the worker's death until the timeout.
        os.register_at_fork(after_in_child=pipe.close)
    if runtime in _ROLES:
        _ROLES[runtime]()
    elif runtime != "callable":
        # The import is not part of the load time; an error is raised again and reported when the model is loaded.
        with contextlib.suppress(Exception):
            find_runtime(runtime).ready()
    gc.enable()
    host = Host()
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send_bytes(encode((0, Ready())))
        while True:
            number, request = decode_request(pipe.recv_bytes())
            host.files = {handle: receive_file(pipe.fileno()) for handle in handles_of(request)}
            pipe.send_bytes(encode((number, host.answer(request))))


def _become_a_reader() -> None:
    """Import the code for reading models in advance, and give up privileges it does not need."""
    from onnxperf.measure.worker import limits, reading

    _ = reading
    limits.confine()


def _become_a_quantizer() -> None:
    """Import the code for quantizing models; onnxruntime needs threads."""
    from onnxperf.measure.worker import limits, quantizing

    _ = quantizing
    limits.confine(threads=True)


_ROLES = {READER: _become_a_reader, QUANTIZER: _become_a_quantizer}
"""Workers that host no subjects."""


def die_with(parent: int) -> None:
    """Ask the kernel to kill this process when its parent dies, even if it is frozen."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if hasattr(os, "getppid") and os.getppid() != parent:
        sys.exit("the parent is gone")


def _be_the_first_to_go_when_memory_ends() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
