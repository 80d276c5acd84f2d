"""What was advised: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.analyze.answers.advise import findings, setting_text
from onnxperf.analyze.judges.advice import best_of
from onnxperf.records.advice import FASTER, Advice, Tried
from onnxperf.render.advice.chart import advice_plot
from onnxperf.render.advice.page import ShownHazard, advice_page
from onnxperf.render.kit.page import Page
from onnxperf.render.web.sections.advise import advise_sections
from onnxperf.results.old_base import OldResult, frame_of

if TYPE_CHECKING:
    from pandas import DataFrame

_TRIED_COLUMNS = tuple(name for name in Tried.__struct_fields__ if name != "trial")
_HAZARD_COLUMNS = ("kind", "title", "goal", "share", "outcome", "trial", "speedup", "evidence", "remedy")


class AdviseResult(OldResult[Advice]):
    """What `onnxperf.advise` returns; true when something helps."""

    tables = {
        "tried": lambda self: self.tried(),
        "hazards": lambda self: self.hazards(),
    }
    """One row per trial of a hazard, and per hazard with its best trial."""
    charts = {"speedups": advice_plot}
    sections = (advise_sections,)

    def __init__(self, record: Advice, has_answer: bool = True) -> None:
        super().__init__(record)
        self._has_answer = has_answer

    @property
    def has_answer(self) -> bool:
        """Whether the model was written, where that was requested."""
        return self._has_answer

    def page(self) -> Page:
        """Hazards with evidence, gain and remedy, then every trial."""
        return advice_page(self.record, [ShownHazard(*each) for each in findings(self.record)], self.answer)

    def tried(self) -> DataFrame:
        """One row per trial of a hazard, with the settings that were tried."""
        rows = [
            [each.trial.name, setting_text(each.trial), *(getattr(each, name) for name in _TRIED_COLUMNS)]
            for each in self.record.tried
        ]
        return frame_of(rows, ("trial", "settings", *_TRIED_COLUMNS))

    def hazards(self) -> DataFrame:
        """One row per hazard, the largest gain first."""
        rows = []
        for hazard in self.record.hazards:
            best = best_of(hazard, self.record.tried)
            of_best = (best.outcome, best.trial.name, best.speedup) if best else ("untried", "", None)
            rows.append(
                [hazard.kind, hazard.title, hazard.goal, hazard.share, *of_best, hazard.evidence, hazard.remedy]
            )
        return frame_of(rows, _HAZARD_COLUMNS)

    @property
    def gains(self) -> list[Tried]:
        """Trials that helped, the largest gain first."""
        return [each for each in self.record.tried if each.outcome in FASTER]

    def __bool__(self) -> bool:
        """Whether something helps."""
        return bool(self.gains)
