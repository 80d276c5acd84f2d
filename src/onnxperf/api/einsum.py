"""`onnxperf.einsum`: numpy.einsum by whatever computes it fastest, found once and kept."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from time import monotonic
from typing import Any

import numpy as np
from numpy import ndarray

from onnxperf.analyze.judges.einsum import numpy_wins
from onnxperf.api._shared.einsum_plans import plan_for, request_for, written_model
from onnxperf.api._shared.einsum_race import EinsumRequest
from onnxperf.api._shared.progress import automatic, shown
from onnxperf.api._shared.public import signature_of
from onnxperf.contraction import store
from onnxperf.contraction.equation import parse
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.options.functions import EINSUM
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import Array
from onnxperf.runtimes.find import find_runtime

try:  # what numpy.einsum calls; a third of the time of a small one goes into choosing it
    from numpy._core.multiarray import c_einsum
except ImportError:
    c_einsum = np.einsum

_EQUATIONS = 64
"""Equations, on shapes and types, whose computations stay ready."""
_LOOK_S = 1.0
"""Seconds until the file of a plan is looked at again."""

Compute = Callable[..., Any]
"""A value from operands of the shapes and types that it was made for."""


def einsum(
    equation: str,
    *arrays: Any,
    optimize: bool | str = True,
    decompose: bool = True,
    progress: Progress = automatic,
    **options: Any,
) -> Any:
    """What numpy.einsum returns, computed by an ONNX graph, or by numpy where that is faster.

    With `optimize`, the fastest graph is searched the first time, which takes seconds, and kept for later calls and,
    where its race decided, for other processes; "estimate" trusts the cost model instead; without it the equation is
    decomposed as written. With `decompose=False` only onnxruntime's own Einsum is used, in its best letter order or as
    written. Later calls with the same equation, shapes, types and options only compute; a plan whose file was deleted
    or replaced is noticed within a second.
    """
    key: list[object] = [equation, optimize, decompose, *options.items()]
    for array in arrays:
        if type(array) is not ndarray:
            operands = map(np.asarray, arrays)
            return einsum(equation, *operands, optimize=optimize, decompose=decompose, progress=progress, **options)
        key.append(array.shape)
        key.append(array.dtype)
    try:
        ready = _ready_for(*key)
    except TypeError:  # an option that cannot be looked up is refused below
        ready = _Ready()
    compute = ready.compute
    if compute is None or (monotonic() >= ready.due and not ready.is_current()):
        chosen = EINSUM.complete(EINSUM.values(options))
        runtime = chosen["runtime"]
        _check(equation, arrays, runtime, optimize, decompose)
        parsed = parse(equation, [array.shape for array in arrays])
        dtype = np.result_type(*arrays)
        request = request_for(parsed, dtype.name, runtime, chosen["threads"], einsum_only=not decompose)
        wanted = optimize if isinstance(optimize, str) else bool(optimize)  # 1 and numpy's True are equal to True, too
        model = _model(request, wanted, progress, ready)
        compute = ready.compute = _compute(request, model, dtype, arrays)
    return compute(*arrays)


def _signature(own: inspect.Signature) -> inspect.Signature:
    """What help() and editors show: the options by name."""
    named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
    return signature_of(own.replace(parameters=named), EINSUM)


# Not @public: a call that only computes takes microseconds, and reads no options.
vars(einsum).update(__signature__=_signature(inspect.signature(einsum)), takes=EINSUM)
einsum.__doc__ = EINSUM.documented(einsum.__doc__)


def _check(equation: object, operands: Sequence[Array], runtime: str, optimize: bool | str, decompose: bool) -> None:
    if not isinstance(equation, str):
        raise BadOption(f"einsum: expected an equation such as 'ij,jk->ik', got {type(equation).__name__}")
    if optimize not in (True, False, "estimate"):
        raise BadOption.unknown("optimize", optimize, (True, False, "estimate"), option="optimize")
    if not decompose and runtime != "ort":
        raise BadOption(f"`decompose=False` needs onnxruntime's Einsum; runtime {runtime!r} has none")
    if not operands:
        raise BadOption(f"einsum {equation!r}: no operands given")


# ---------------------------------------------------------------- found once


@dataclass(slots=True)
class _Ready:
    """How an equation is computed, once found."""

    compute: Compute | None = None
    place: store.Place | None = None
    """The file of the plan, if there is one."""
    due: float = math.inf
    """When it is looked at again."""

    def is_current(self) -> bool:
        """Whether the plan is still the one that is kept."""
        self.due = monotonic() + _LOOK_S
        return self.place is None or self.place.is_current()


@lru_cache(_EQUATIONS)
def _ready_for(*_key: object) -> _Ready:
    """One for each equation with shapes, types and options; a search that was interrupted leaves it as it was."""
    return _Ready()


def _model(request: EinsumRequest, optimize: bool | str, progress: Progress, ready: _Ready) -> bytes | None:
    """The graph that computes an equation; None if numpy does so faster."""
    if optimize is False:
        return written_model(request)
    with shown(progress) as report:  # here, not around `einsum`: later calls take microseconds
        plan = plan_for(request, search=optimize is True, progress=report)
    if plan.interrupted:  # the search answered Ctrl-C with what it had, but the caller waits for a value
        raise KeyboardInterrupt
    ready.place, ready.due = store.place(request.key), monotonic() + _LOOK_S
    by_numpy = not request.einsum_only and numpy_wins(plan.record, request.equation.products)
    return None if by_numpy else plan.model


def _compute(request: EinsumRequest, model: bytes | None, dtype: np.dtype[Any], operands: Sequence[Array]) -> Compute:
    """A function of operands like these, which become `dtype` first where they are not."""
    if model is None:
        compute = _by_numpy(request)
    else:
        compute = _by_session(request, model, [np.asarray(operand, dtype) for operand in operands])
    if any(operand.dtype != dtype for operand in operands):
        return lambda *others: _named(compute(*[np.asarray(other, dtype) for other in others]), others)
    if dtype.kind in "iu":
        return lambda *others: _named(compute(*others), others)
    return compute


def _named(value: Any, operands: Sequence[Array]) -> Any:
    """The value in the type that numpy returns: integers of 64 bits have two that are equal."""
    dtype = np.result_type(*operands)
    return value.view(dtype) if value.dtype == dtype else value


def _by_numpy(request: EinsumRequest) -> Compute:
    """What numpy computes; of a single operand it returns a view where it can, which is copied."""
    compute = partial(c_einsum, request.equation.canonical)
    return compute if len(request.equation.operands) > 1 else lambda operand: np.array(compute(operand))[()]


def _by_session(request: EinsumRequest, model: bytes, operands: Sequence[Array]) -> Compute:
    session = find_runtime(request.runtime).open_session(model, SessionOptions(threads=request.threads))
    named = _name_two if len(operands) == 2 else _name_all
    call = session.caller("run", named(*operands))
    if not request.equation.output:
        return lambda *operands: call(named(*operands))[0][()]
    return lambda *operands: call(named(*operands))[0]


def _name_two(first: Array, second: Array) -> dict[str, Array]:
    """Most equations have two operands, and a loop over them takes longer than all the rest."""
    return {"X0": first, "X1": second}


def _name_all(*operands: Array) -> dict[str, Array]:
    return {f"X{number}": operand for number, operand in enumerate(operands)}
