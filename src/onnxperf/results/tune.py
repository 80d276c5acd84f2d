"""What a tuning found: a view on its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from onnxperf.errors import FileNotWritten
from onnxperf.records.tune import TunedSettings, Tuning
from onnxperf.render.race.sections import charts_of_races
from onnxperf.render.race.tune import (
    candidates_charts,
    choices_table,
    confirmation_table,
    error_charts,
    pareto_table,
    tune_page,
)
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format, Wanted

SETTINGS = ".settings.json"
"""How names of files of settings end."""
SHOW = Show(
    Tuning,
    "tune",
    tune_page,
    tables={"choices": choices_table, "race": confirmation_table, "pareto": pareto_table},
    charts={
        "choices": candidates_charts,
        "pareto": error_charts,
        **charts_of_races(lambda tuning: [tuning.confirmation]),
    },
    own={
        SETTINGS: Format(
            "the settings of the winner, as a variant takes them", lambda result, _: result.settings_bytes()
        )
    },
)


class TuneResult(Result[Tuning]):
    """What `onnxperf.tune` returns; true when settings are proven better than the defaults."""

    show = SHOW

    def __init__(self, record: Tuning, write_model: Callable[[Path], None] | None = None) -> None:
        super().__init__(record)
        self._write_model = write_model
        """Writes the rewritten model that is part of the winner; None if there is none, or it is not there any more."""

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

    def write(self, path: Path, suffix: str, wanted: Wanted) -> None:
        """Write one file; NAME.settings.json has NAME.onnx next to it, if it is for a rewritten model."""
        super().write(path, suffix, wanted)
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
