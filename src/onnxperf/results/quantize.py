"""What quantizing a model gives: a view on its record."""

from __future__ import annotations

from onnxperf.analyze.judges.quantization import is_faster
from onnxperf.records.quantize import INT8, Quantization
from onnxperf.render.advice.quantize import (
    errors_charts,
    errors_table,
    layers_charts,
    layers_table,
    quantize_page,
    unfused_table,
    ways_charts,
    ways_table,
)
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show

SHOW = Show(
    Quantization,
    "quantize",
    quantize_page,
    tables={"layers": layers_table, "ways": ways_table, "errors": errors_table, "unfused": unfused_table},
    charts={
        "layers": layers_charts,
        "errors": errors_charts,
        "ways": ways_charts,
        **charts_of_races(lambda record: [record.race]),
    },
)


class QuantizeResult(Result[Quantization]):
    """What `onnxperf.quantize` returns; true when int8 is faster than float32."""

    show = SHOW

    @property
    def path(self) -> str:
        """File of the quantized model; empty if none was requested, or int8 is slower."""
        return self.record.output

    @property
    def has_answer(self) -> bool:
        """Whether the best way was raced."""
        return self.record.race is not None

    def __bool__(self) -> bool:
        """Whether int8 is faster than float32, beyond the noise."""
        return is_faster(self.record.race, INT8)
