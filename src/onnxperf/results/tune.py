"""What a tuning found: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.race import SUBJECT_COLUMNS
from onnxperf.records.tune import TuneRow, Tuning
from onnxperf.render.kit.page import Page
from onnxperf.render.race.tune import tune_page
from onnxperf.render.race.tune_chart import tune_plot
from onnxperf.render.web.sections.tune import tune_sections
from onnxperf.results.base import Result, frame_of

if TYPE_CHECKING:
    from pandas import DataFrame

_ROW_COLUMNS = (
    "stage",
    "status",
    "reason",
    "dropped",
    "launches",
    "speedup",
    "speedup_low",
    "speedup_high",
    "amount",
    "error",
    "pareto",
)


class TuneResult(Result[Tuning]):
    """What `onnxperf.tune` returns; true when settings are proven better than the defaults."""

    tables = {
        "choices": lambda self: self.choices(),
        "race": lambda self: self.race(),
        "pareto": lambda self: self.pareto(),
    }
    """One row per candidate, the confirming race, and the candidates of which none is both better and more exact."""
    charts = {"choices": tune_plot}
    sections = (tune_sections,)

    def page(self) -> Page:
        """What each candidate gave, and what is proven."""
        return tune_page(self.record, self.answer)

    def choices(self) -> DataFrame:
        """One row per candidate."""
        return _frame(self.record.rows)

    def pareto(self) -> DataFrame:
        """Candidates than which no other is both at least as good and at least as exact, the most exact first."""
        front = [row for row in self.record.rows if row.pareto]
        return _frame(sorted(front, key=lambda row: (row.error or 0.0, -(row.speedup or 0.0))))

    def race(self) -> DataFrame:
        """The confirming race; empty where none took place."""
        subjects = self.record.confirmation.subjects if self.record.confirmation is not None else ()
        rows = [[getattr(subject, column) for column in SUBJECT_COLUMNS] for subject in subjects]
        return frame_of(rows, SUBJECT_COLUMNS)

    @property
    def settings(self) -> dict[str, str]:
        """Settings, call style and runtime of the winner by name, as a variant has them; empty for the defaults."""
        winner = self.record.winner
        if winner is None:
            return {}
        kinds = {"call": winner.call or self.record.call, "runtime": winner.runtime}
        return {**winner.settings, **{name: each for name, each in kinds.items() if each}}

    @property
    def snippet(self) -> str:
        """Python that sets up and calls the winner with onnxruntime alone; empty for the defaults."""
        return self.record.snippet

    @property
    def has_answer(self) -> bool:
        """Whether enough candidates were tried to say which settings are best."""
        return self.record.outcome != "unanswered"

    def __bool__(self) -> bool:
        """Whether settings are proven better than the defaults."""
        return self.record.outcome == "tuned"


def _frame(rows: tuple[TuneRow, ...] | list[TuneRow]) -> DataFrame:
    columns = ("name", "settings", "call", "runtime", "rewrite", "approximate", *_ROW_COLUMNS)
    return frame_of([[*_choice(row), *(getattr(row, column) for column in _ROW_COLUMNS)] for row in rows], columns)


def _choice(row: TuneRow) -> list[object]:
    choice = row.choice
    settings = ", ".join(f"{name}={value}" for name, value in choice.settings.items())
    return [choice.name, settings, choice.call, choice.runtime, choice.rewrite, choice.approximate]
