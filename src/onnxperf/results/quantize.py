"""What quantising a model gives: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.analyze.judges.quantization import is_faster
from onnxperf.records.quantize import INT8, LayerChange, OutputError, Quantization, TriedWay, UnfusedPair
from onnxperf.render.advice.quantize import layers_plot, quantize_page
from onnxperf.render.kit.page import Page
from onnxperf.render.web.sections.quantize import quantize_sections
from onnxperf.results.old_base import OldResult, frame_of, struct_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_WAY_COLUMNS = tuple(name for name in TriedWay.__struct_fields__ if name != "way")


class QuantizeResult(OldResult[Quantization]):
    """What `onnxperf.quantize` returns; true when int8 is faster than float32."""

    tables = {
        "layers": lambda self: struct_frame(self.record.layers, LayerChange),
        "ways": lambda self: self.ways(),
        "errors": lambda self: struct_frame(self.record.errors, OutputError),
        "unfused": lambda self: struct_frame(self.record.unfused, UnfusedPair),
    }
    """One row per layer, per way that was tried, per output, and per conversion that did not fuse."""
    charts = {"layers": layers_plot}
    """Time per layer before and after."""
    sections = (quantize_sections,)

    def page(self) -> Page:
        """The ways, the layers, the conversions that did not fuse, the errors, and the answer."""
        return quantize_page(self.record, self.answer)

    def ways(self) -> DataFrame:
        """One row per way that was tried, its arguments as columns of their own."""
        fields = ("name", "mode", "activations", "weights", "per_channel")
        rows = [
            [*(getattr(each.way, field) for field in fields), *(getattr(each, field) for field in _WAY_COLUMNS)]
            for each in self.record.ways
        ]
        return frame_of(rows, (*fields, *_WAY_COLUMNS))

    @property
    def path(self) -> str:
        """File of the quantised model; empty where none was requested, or int8 is slower."""
        return self.record.output

    @property
    def has_answer(self) -> bool:
        """Whether the best way was raced."""
        return self.record.race is not None

    def __bool__(self) -> bool:
        """Whether int8 is faster than float32, beyond the noise."""
        return is_faster(self.record.race, INT8)
