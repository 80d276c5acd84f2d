"""Small records of runs that are kept, and the results that show them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from onnxperf.records.check import Check, Difference
from onnxperf.records.einsum import EinsumPlan
from onnxperf.results.base import Result, result_classes


def check(equal: bool) -> Check:
    outputs = (Difference(name="Y", equal=equal),)
    return Check(model="m.onnx", first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=outputs)


PLAN = EinsumPlan(
    equation="ij,jk",
    canonical="ij,jk->ik",
    best_equation="ij,jk->ik",
    shapes=((2, 3), (3, 4)),
    dtype="float32",
    opset=18,
    graph="MatMul",
    command="onnxperf einsum",
    answer="MatMul is fastest.",
)


def result_of(record: Struct) -> Result[Any]:
    """The result that shows a record."""
    return result_classes()[type(record)](record)
