"""The runs of the store, and two of them compared: views on their records that make tables and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from onnxperf.records.runs import ComparedSubject, KeptRun, KeptRuns, RunComparison
from onnxperf.render.kit.page import Page
from onnxperf.render.race.runs import comparison_page, runs_page
from onnxperf.render.web.old_base import Story
from onnxperf.render.web.sections.compare import compare_sections
from onnxperf.results.old_base import OldResult, struct_frame
from onnxperf.wording.names import dims_text

if TYPE_CHECKING:
    from pandas import DataFrame


class RunsResult(OldResult[KeptRuns], Sequence[KeptRun]):
    """What `onnxperf.runs` returns: the runs, the newest first."""

    tables = {"runs": lambda self: _runs(self.record)}

    def page(self) -> Page:
        """A line per run."""
        return runs_page(self.record)

    @property
    def answer(self) -> str:
        """The ids of the runs, one per line."""
        return "\n".join(run.id for run in self.record.runs)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.record.runs)

    @overload
    def __getitem__(self, index: int) -> KeptRun: ...
    @overload
    def __getitem__(self, index: slice) -> RunsResult: ...
    def __getitem__(self, index: int | slice) -> KeptRun | RunsResult:
        """The run at a place, or several of them."""
        chosen = self.record.runs[index]
        return RunsResult(replace(self.record, runs=chosen)) if isinstance(chosen, tuple) else chosen


class ComparisonResult(OldResult[RunComparison]):
    """What `onnxperf runs compare` found; `record` holds everything."""

    tables = {"subjects": lambda self: _compared(self.record)}
    sections = (compare_sections,)

    def page(self) -> Page:
        """The times of both runs, the verdicts on the second, and why."""
        return comparison_page(self.record)

    def story(self) -> Story:
        """The comparison, under the names of both runs."""
        return super().story()._replace(kind="runs compare", topic=f"{self.record.second} against {self.record.first}")


def _runs(record: KeptRuns) -> DataFrame:
    """One row per run; started and finished are times with their zone."""
    from pandas import to_datetime

    table = struct_frame(record.runs, KeptRun)
    for column in ("started", "finished"):
        table[column] = to_datetime(table[column], utc=True, format="ISO8601")
    return table


def _compared(record: RunComparison) -> DataFrame:
    """One row per subject that both runs have."""
    return struct_frame(record.rows, ComparedSubject).assign(dims=[dims_text(row.dims) for row in record.rows])
