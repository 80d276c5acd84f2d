"""Pages of records in which nothing was found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import Struct

from onnxperf.records.advice import Advice
from onnxperf.records.bisect import Bisection
from onnxperf.records.check import Check
from onnxperf.records.doctor import MachineReport
from onnxperf.records.einsum import Rewrite
from onnxperf.records.quantize import Quantization
from onnxperf.records.runs import RunComparison
from onnxperf.records.tune import Tuning
from onnxperf.results.base import result_classes
from tests.render import examples

NOTHING: dict[str, Callable[[], Struct]] = {
    "tune": lambda: Tuning(model="m"),
    "bisect": lambda: Bisection(model="m", over="nodes"),
    "advise": lambda: Advice(model="m"),
    "quantize": lambda: Quantization(model="m"),
    "check": lambda: Check(model="m", first="a", second="b", rtol=0.0, atol=0.0, outputs=()),
    "doctor": lambda: MachineReport(machine=examples.machine(), rows={}),
    "compare": lambda: RunComparison(first="a", second="b"),
    "rewrite": lambda: Rewrite(model="m", output="", sites=()),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_record_of_nothing_has_a_page_without_a_chart(kind: str) -> None:
    record = NOTHING[kind]()
    html = result_classes()[type(record)](record).to_html()
    assert "<figure" not in html
