"""A quantized model that computes products in float32 between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.graphs.unfused import unfused_hazard
from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial


def find(facts: Facts) -> Iterator[Hazard]:
    """Products with dequantized operands that are executed in float32."""
    found = unfused_hazard(
        facts.profile,
        facts.inspection,
        "qdq",
        "quantized product computed in float32",
        "quantize both operands and the result of these nodes, or exclude them from quantization",
        (Trial(name="session.disable_quant_qdq=1", settings={"session.disable_quant_qdq": "1"}),),
    )
    if found is not None:
        yield found
