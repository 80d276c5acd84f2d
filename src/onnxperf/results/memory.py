"""What subjects need in memory: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.errors import BadOption
from onnxperf.records.memory import Memory
from onnxperf.render.memory.charts import curve_charts, growth_charts, peaks_charts
from onnxperf.render.memory.page import memory_page
from onnxperf.render.memory.tables import breakdown_table, samples_table, subjects_table
from onnxperf.results.base import Result, Show

if TYPE_CHECKING:
    from pandas import DataFrame

SHOW = Show(
    Memory,
    "memory",
    memory_page,
    tables={"subjects": subjects_table, "samples": samples_table, "breakdown": breakdown_table},
    charts={"curve": curve_charts, "peaks": peaks_charts, "growth": growth_charts},
)


class MemoryResult(Result[Memory]):
    """What `onnxperf.memory` returns; `record` holds everything, down to the samples."""

    show = SHOW

    def samples(self, name: str | None = None) -> DataFrame:
        """Resident memory over time, of all subjects or of those with this name."""
        names = [subject.name for case in self.record.cases for subject in case.subjects]
        if name is not None and name not in names:
            raise BadOption.unknown("subject", name, names)
        frame = self.table("samples")
        return frame if name is None else frame[frame["subject"] == name].reset_index(drop=True)

    def breakdown(self) -> DataFrame:
        """Where the bytes of the models are, one row per subject and item."""
        return self.table("breakdown")
