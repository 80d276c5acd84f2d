"""The numpy runtime and onnxruntime on one node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import onnxruntime

from benchmarks.operator_cases.base import Case
from onnxperf.errors import OnnxperfError
from onnxperf.runtimes.numpy.session import NumpySession

Kind = Literal["same", "differs", "refused by numpy", "refused by onnxruntime", "refused by both"]
KINDS: tuple[Kind, ...] = ("same", "differs", "refused by numpy", "refused by onnxruntime", "refused by both")
onnxruntime.set_default_logger_severity(4)
_TOLERANCES = {"float16": 2e-2, "float32": 2e-4, "float64": 1e-6}
_IMPRECISE = {"GroupNormalization": 1e-2, "InstanceNormalization": 1e-2, "LayerNormalization": 1e-2}
"""Few elements that are nearly equal have a variance of few digits."""


class Outcome(NamedTuple):
    """What came out, and in which way it is not the same."""

    kind: Kind
    detail: str = ""


def compare(case: Case) -> Outcome:
    """Run a case in both runtimes; any error of ours that is not one of the package's passes through."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours, complaint = _attempt(_numpy, case, OnnxperfError)
        theirs, refusal = _attempt(_onnxruntime, case, Exception)
        if ours is None or theirs is None:
            which = "both" if ours is theirs else "numpy" if ours is None else "onnxruntime"
            return Outcome(f"refused by {which}", complaint or refusal)  # type: ignore[arg-type]
        least = _IMPRECISE.get(case.operator, 0.0)
        detail = next(filter(None, (_difference(*pair, least) for pair in zip(ours, theirs, strict=True))), "")
    return Outcome("differs" if detail else "same", detail)


def _attempt(run: Callable[[Case], list[Any]], case: Case, refusal: type[Exception]) -> tuple[list[Any] | None, str]:
    try:
        return run(case), ""
    except refusal as error:
        return None, str(error)


def _numpy(case: Case) -> list[Any]:
    model, feeds = case.model()
    return list(NumpySession(model).bind("run", feeds, {})())


def _onnxruntime(case: Case) -> list[Any]:
    model, feeds = case.model()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


def _difference(ours: Any, theirs: Any, least_tolerance: float) -> str:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if theirs.dtype.kind in "OUS":
        same = ours.shape == theirs.shape and ours.astype(str).tolist() == theirs.astype(str).tolist()
        return "" if same else f"{ours.tolist()} here, {theirs.tolist()} there"
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return f"{ours.dtype}{list(ours.shape)} here, {theirs.dtype}{list(theirs.shape)} there"
    tolerance = _TOLERANCES.get(ours.dtype.name, 0.0)
    tolerance = max(tolerance, least_tolerance)
    near = np.isclose(ours, theirs, tolerance, tolerance, equal_nan=True) if tolerance else ours == theirs
    if near.all():
        return ""
    place = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{ours[place]} here, {theirs[place]} there, at {list(place)} of {list(ours.shape)}"
