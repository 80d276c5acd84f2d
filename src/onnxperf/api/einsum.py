"""`onnxperf.einsum`: numpy.einsum by the fastest graph, found once and kept."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from onnxperf.api.einsum_field import Request
from onnxperf.api.optimize_einsum import RACE_S, plan_for, request_for
from onnxperf.contraction.equation import parse
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.records import SessionOptions
from onnxperf.runtimes.base import Session, runtime_module

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

    With `optimize`, the fastest graph is searched the first time, which takes seconds, and kept for later calls and
    processes; "estimate" trusts the cost model instead; without it the equation is decomposed as written. With
    `decompose=False` only onnxruntime's own Einsum is used, in its best letter order or as written.
    """
    if optimize not in (True, False, "estimate"):
        raise BadOption.unknown("optimize", optimize, (True, False, "estimate"))
    if not decompose and runtime != "ort":
        raise BadOption(f"decompose=False needs onnxruntime's Einsum; runtime {runtime!r} has none")
    operands = [np.asarray(array) for array in arrays]
    if not operands:
        raise BadOption(f"einsum {equation!r}: no operands given")
    dtype = np.result_type(*operands)
    parsed = parse(equation, [operand.shape for operand in operands])
    request = request_for(parsed, dtype.name, runtime, threads, einsum_only=not decompose)
    session = _session(request, optimize) if optimize is not True else _searched_session(request, progress)
    feeds = {f"X{number}": np.asarray(operand, dtype) for number, operand in enumerate(operands)}
    result = session.bind("run", feeds, {})()[0]
    return result[()] if result.ndim == 0 else result


def _searched_session(request: Request, progress: Progress) -> Session:
    plan_for(request, search=True, again=False, time=RACE_S, progress=progress)
    return _session(request, True)


@lru_cache(_SESSIONS)
def _session(request: Request, optimize: bool | str) -> Session:
    plan = plan_for(request, search=optimize is True, again=False, time=RACE_S, progress=lambda _done, _text: None)
    model = plan.model if optimize else plan.unoptimized
    options = SessionOptions(threads=request.threads)
    return runtime_module(request.runtime).open_session(model, options)
