"""What a tuning found: a view on its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from onnxperf.errors import FileNotWritten
from onnxperf.records.race import SUBJECT_COLUMNS
from onnxperf.records.tune import TunedSettings, TuneRow, Tuning
from onnxperf.render.kit.page import Page
from onnxperf.render.race.tune import tune_page
from onnxperf.render.race.tune_chart import tune_plot
from onnxperf.render.web.sections.tune import tune_sections
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from pandas import DataFrame

SETTINGS = ".settings.json"
"""How names of files of settings end."""
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


class TuneResult(OldResult[Tuning]):
    """What `onnxperf.tune` returns; true when settings are proven better than the defaults."""

    tables = {
        "choices": lambda self: self.choices(),
        "race": lambda self: self.race(),
        "pareto": lambda self: self.pareto(),
    }
    """One row per candidate, the confirming race, and the candidates of which none is both better and more exact."""
    charts = {"choices": tune_plot}
    sections = (tune_sections,)
    own_formats = {
        SETTINGS: Format(
            "the settings of the winner, as a variant takes them", lambda result, _table: result.settings_bytes()
        )
    }

    def __init__(self, record: Tuning, write_model: Callable[[Path], None] | None = None) -> None:
        super().__init__(record)
        self._write_model = write_model
        """Writes the rewritten model that is part of the winner; None if there is none, or it is not there any more."""

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

    def settings_bytes(self) -> bytes:
        """A file with the settings of the winner; there is none for the defaults, or for what is not confirmed."""
        record, winner = self.record, self.record.winner
        if winner is None or not self:
            raise FileNotWritten("no settings were written: there is no winner")
        if winner.rewrite and self._write_model is None:
            problem = f"the settings are for a rewritten model ({winner.rewrite}), which is not saved with a run"
            raise FileNotWritten(f"no settings were written: {problem}; tune again")
        saved = TunedSettings(
            model=record.model,
            fingerprint=record.fingerprint,
            dims=record.dims,
            settings=winner.settings,
            call=winner.call or record.call,
            runtime=winner.runtime,
        )
        return msgspec.json.format(msgspec.json.encode(saved), indent=2) + b"\n"

    def write(self, path: Path, suffix: str, table: str | None) -> None:
        """Write one file; NAME.settings.json has NAME.onnx next to it, if it is for a rewritten model."""
        super().write(path, suffix, table)
        if self._write_model is not None and self.needs_a_folder(suffix):
            self._write_model(path.with_name(f"{path.name[: -len(SETTINGS)]}.onnx"))

    def needs_a_folder(self, suffix: str) -> bool:
        """Whether the settings are for a rewritten model, which is written next to them."""
        return suffix == SETTINGS and bool(self) and self._write_model is not None

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
