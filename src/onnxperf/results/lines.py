"""What each line of a function costs in memory: a view on its record."""

from __future__ import annotations

from onnxperf.records.lines import MemoryLines
from onnxperf.render.memory.lines import lines_charts, lines_page, lines_table
from onnxperf.results.base import Show

SHOW = Show(MemoryLines, "memory", lines_page, tables={"lines": lines_table}, charts={"lines": lines_charts})
