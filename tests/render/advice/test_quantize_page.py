"""The ways of a quantisation as the page shows them."""

from __future__ import annotations

from typing import Any

import pytest

from onnxperf.records.quantize import Quantization, QuantizationWay, TriedWay
from onnxperf.render.kit.old_table import Table
from onnxperf.results.quantize import QuantizeResult

WAY = "static U8S8"
WITHOUT = f"{WAY}, without slower nodes"


def tried(name: str, verdict: Any, **changes: Any) -> TriedWay:
    way = QuantizationWay(name=name, mode="static")
    return TriedWay(**({"way": way, "status": "ok", "acceptable": True, "speedup": 0.8, "verdict": verdict} | changes))


@pytest.mark.parametrize(
    ("chosen", "verdict", "changes", "result"),
    [
        (WAY, "slower", {"against": WAY}, "slower than with them"),
        (WITHOUT, "faster", {"against": WAY}, "chosen, faster than with them"),
        (WAY, "undecided", {"against": WAY}, ""),
        (WAY, "faster", {"against": WAY, "acceptable": False}, "error too large"),
        (WAY, "slower", {}, "slower"),
        (WITHOUT, "slower", {}, "chosen"),
        ("", "slower", {}, "slower, not chosen"),
    ],
)
def test_a_way_that_raced_another_way_says_so(chosen: str, verdict: Any, changes: dict[str, Any], result: str) -> None:
    record = Quantization(model="m", best=chosen or WITHOUT, chosen=chosen, ways=(tried(WITHOUT, verdict, **changes),))
    (table,) = [part for part in QuantizeResult(record).page() if isinstance(part, Table) and part.title == "Ways"]
    headings = [column.heading for column in table.columns]
    shown = table.rows[0].cells[headings.index("result")] if "result" in headings else ""
    assert shown == result
