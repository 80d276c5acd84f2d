"""Where the numpy runtime and onnxruntime differ, and which of them computes what ONNX defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from benchmarks.operator_cases.base import Case

Right = Literal["numpy", "onnxruntime", "not defined"]


class Known(NamedTuple):
    """A difference that is understood."""

    operators: str
    when: Callable[[Case], bool]
    right: Right
    why: str


KNOWN: tuple[Known, ...] = ()


def known_difference(case: Case) -> Known | None:
    """The difference that explains a case."""
    return next((each for each in KNOWN if case.operator in each.operators.split() and each.when(case)), None)
