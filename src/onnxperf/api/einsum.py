"""`onnxperf.einsum`: numpy.einsum by the fastest graph, found once and kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from onnxperf.api._shared.candidate_race import EinsumRequest
from onnxperf.api._shared.einsum_plans import plan_for, request_for, written_model
from onnxperf.contraction.equation import parse
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import Session
from onnxperf.runtimes.find import find_runtime

_SESSIONS = 64
"""Equations whose sessions stay open."""


def einsum(
    equation: str,
    *arrays: Any,
    runtime: str = "ort",
    optimize: bool | str = True,
    decompose: bool = True,
    threads: int | None = None,
    progress: Progress = lambda _done, _text: None,
) -> Any:
    """What numpy.einsum returns, computed by an ONNX graph.

    With `optimize`, the fastest graph is searched the first time, which takes seconds, and kept for later calls and,
    where its race decided, for other processes; "estimate" trusts the cost model instead; without it the equation is
    decomposed as written. With `decompose=False` only onnxruntime's own Einsum is used, in its best letter order or as
    written.
    """
    if not isinstance(equation, str):
        raise BadOption(f"einsum: expected an equation such as 'ij,jk->ik', got {type(equation).__name__}")
    if optimize not in (True, False, "estimate"):
        raise BadOption.unknown("optimize", optimize, (True, False, "estimate"), option="optimize")
    wanted = optimize if isinstance(optimize, str) else bool(optimize)  # 1 and numpy's True are equal to True, too
    if not decompose and runtime != "ort":
        raise BadOption(f"`decompose=False` needs onnxruntime's Einsum; runtime {runtime!r} has none")
    operands = [np.asarray(array) for array in arrays]
    if not operands:
        raise BadOption(f"einsum {equation!r}: no operands given")
    dtype = np.result_type(*operands)
    parsed = parse(equation, [operand.shape for operand in operands])
    request = request_for(parsed, dtype.name, runtime, threads, einsum_only=not decompose)
    session = _session(_Wanted(request, wanted, progress))
    feeds = {f"X{number}": np.asarray(operand, dtype) for number, operand in enumerate(operands)}
    result = session.bind("run", feeds, {})()[0]
    result = result.view(dtype) if result.dtype == dtype else result  # numpy has two names for 64 bits
    return result[()] if result.ndim == 0 else result


@dataclass(frozen=True)
class _Wanted:
    """What a session is opened for."""

    request: EinsumRequest
    optimize: bool | str
    progress: Progress = field(compare=False)


@lru_cache(_SESSIONS)
def _session(wanted: _Wanted) -> Session:
    """The session of a graph, opened once; a search that was interrupted has none."""
    request = wanted.request
    options = SessionOptions(threads=request.threads)
    return find_runtime(request.runtime).open_session(_model(wanted), options)


def _model(wanted: _Wanted) -> bytes:
    if wanted.optimize is False:
        return written_model(wanted.request)
    plan = plan_for(wanted.request, search=wanted.optimize is True, progress=wanted.progress)
    if plan.interrupted:  # the search answered Ctrl-C with what it had, but the caller waits for a value
        raise KeyboardInterrupt
    return plan.model
