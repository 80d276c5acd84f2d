"""What was advised: a view on its record."""

from __future__ import annotations

from onnxperf.analyze.answers.advise import findings
from onnxperf.analyze.judges.advice import best_of
from onnxperf.records.advice import FASTER, Advice, Tried
from onnxperf.render.advice.page import ShownHazard, advice_page, hazards_table, trials_charts, tried_table
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show


def _hazards(record: Advice) -> list[ShownHazard]:
    found = zip(record.hazards, findings(record), strict=True)
    return [ShownHazard(hazard, best_of(hazard, record.tried), each.result, each.action) for hazard, each in found]


SHOW = Show(
    Advice,
    "advise",
    lambda record: advice_page(record, _hazards(record)),
    tables={"tried": tried_table, "hazards": lambda record: hazards_table(_hazards(record))},
    charts={"speedups": trials_charts, **charts_of_races(lambda advice: advice.races)},
)


class AdviseResult(Result[Advice]):
    """What `onnxperf.advise` returns; true when something helps."""

    show = SHOW

    def __init__(self, record: Advice, has_answer: bool = True) -> None:
        super().__init__(record)
        self._has_answer = has_answer

    @property
    def has_answer(self) -> bool:
        """Whether the model was written, if requested."""
        return self._has_answer

    @property
    def gains(self) -> list[Tried]:
        """Trials that helped, the largest gain first."""
        return [each for each in self.record.tried if each.outcome in FASTER]

    def __bool__(self) -> bool:
        """Whether something helps."""
        return bool(self.gains)
