"""What a bisection found: a view on its record."""

from __future__ import annotations

from onnxperf.records.bisect import Bisection
from onnxperf.render.race.bisect import (
    bisect_page,
    candidates_table,
    operators_charts,
    operators_table,
    steps_charts,
    steps_table,
)
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show

SHOW = Show(
    Bisection,
    "bisect",
    bisect_page,
    tables={"steps": steps_table, "candidates": candidates_table, "operators": operators_table},
    charts={
        "steps": steps_charts,
        "operators": operators_charts,
        **charts_of_races(lambda record: [step.race for step in record.steps]),
    },
)


class BisectResult(Result[Bisection]):
    """What `onnxperf.bisect` returns; true when a cause was found."""

    show = SHOW

    @property
    def cause(self) -> str:
        """What accounts for the change; empty if it was not found, or lies in a range."""
        found = self.record.outcome == "found" and len(self.record.causes) == 1
        return self.record.causes[0] if found else ""

    @property
    def has_answer(self) -> bool:
        """Whether a cause, a range or the absence of a difference was found."""
        return self.record.outcome in ("found", "range", "same", "other way")

    def __bool__(self) -> bool:
        """Whether a cause was found."""
        return self.record.outcome == "found"
