"""What a bisection found: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.bisect import BisectCandidate, Bisection, OperatorChange
from onnxperf.render.kit.page import Page
from onnxperf.render.race.bisect import bisect_page
from onnxperf.render.web.sections.bisect import bisect_sections
from onnxperf.results.old_base import OldResult, frame_of, struct_frame

if TYPE_CHECKING:
    from pandas import DataFrame

_STEP_COLUMNS = (
    "purpose",
    "base",
    "candidate",
    "side",
    "verdict",
    "ratio",
    "ratio_low",
    "ratio_high",
    "base_amount",
    "amount",
    "differs",
    "reason",
)


class BisectResult(OldResult[Bisection]):
    """What `onnxperf.bisect` returns; true when a cause was found."""

    tables = {
        "steps": lambda self: self.steps(),
        "candidates": lambda self: struct_frame(self.record.candidates, BisectCandidate),
        "operators": lambda self: struct_frame(self.record.operators, OperatorChange),
    }
    """One row per comparison, per candidate, and per operator whose time changed."""
    sections = (bisect_sections,)

    def page(self) -> Page:
        """Every comparison, and what was found."""
        return bisect_page(self.record, self.answer)

    def steps(self) -> DataFrame:
        """One row per comparison, without the raw timings of its race."""
        rows = [[getattr(step, column) for column in _STEP_COLUMNS] for step in self.record.steps]
        return frame_of(rows, _STEP_COLUMNS)

    @property
    def cause(self) -> str:
        """What accounts for the change; empty where it was not found, or lies in a range."""
        found = self.record.outcome == "found" and len(self.record.causes) == 1
        return self.record.causes[0] if found else ""

    @property
    def has_answer(self) -> bool:
        """Whether a cause, a range or the absence of a difference was found."""
        return self.record.outcome in ("found", "range", "same", "other way")

    def __bool__(self) -> bool:
        """Whether a cause was found."""
        return self.record.outcome == "found"
