"""The runs of the store, and two of them compared: views on their records that make tables and files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from msgspec.structs import replace

from onnxperf.records.runs import KeptRun, KeptRuns, RunComparison
from onnxperf.render.race.runs import comparison_charts, comparison_page, runs_page, runs_table, subjects_table
from onnxperf.results.base import Result, Show

LISTED = Show(KeptRuns, "runs", runs_page, tables={"runs": runs_table})
COMPARED = Show(
    RunComparison,
    "runs compare",
    comparison_page,
    tables={"subjects": subjects_table},
    charts={"speedups": comparison_charts},
)


class RunsResult(Result[KeptRuns], Sequence[KeptRun]):
    """What `onnxperf.runs` returns: the runs, the newest first."""

    show = LISTED

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


class ComparisonResult(Result[RunComparison]):
    """What `onnxperf runs compare` found; `record` holds everything."""

    show = COMPARED

    @property
    def topic(self) -> str:
        """The ids of both runs."""
        return f"{self.record.second} against {self.record.first}"
