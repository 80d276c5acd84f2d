"""What each line of a function costs in memory: a view on its record."""

from __future__ import annotations

from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.render.kit.page import Page
from onnxperf.render.memory.lines import lines_page
from onnxperf.render.memory.lines_chart import lines_plot
from onnxperf.render.web.sections.lines import lines_sections
from onnxperf.results.old_base import OldResult, struct_frame


class LinesResult(OldResult[MemoryLines]):
    """What `onnxperf.memory_lines` returns; `record` holds everything."""

    kind = "memory"
    charts = {"lines": lines_plot}
    sections = (lines_sections,)
    tables = {"lines": lambda self: struct_frame(self.record.lines, LineMemory)}
    """One row per line of the function; sizes in bytes, missing where a line did not run."""

    def page(self) -> Page:
        """Every line with what it costs."""
        return lines_page(self.record)
