"""What the doctor found out about this machine: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.base import Machine
from onnxperf.records.doctor import MachineReport
from onnxperf.render.kit.page import Page
from onnxperf.render.race.doctor import doctor_page, report_facts
from onnxperf.results.base import Result

if TYPE_CHECKING:
    from pandas import DataFrame


class DoctorResult(Result[MachineReport]):
    """What `onnxperf.doctor` returns: facts, the noise of this machine, and what that means in a sentence."""

    tables = {"facts": lambda self: self.to_df()}

    def page(self) -> Page:
        """All facts, and what they mean."""
        return doctor_page(self.record)

    @property
    def machine(self) -> Machine:
        """The machine, before and after the race."""
        return self.record.machine

    @property
    def rows(self) -> dict[str, str]:
        """What was found beside the machine's own facts, by name."""
        return self.record.rows

    @property
    def noise_band(self) -> float | None:
        """Relative difference that a race could mistake for a real one; None if it was not measured."""
        return self.record.noise_band

    def to_df(self) -> DataFrame:
        """One row per fact."""
        from pandas import DataFrame

        return DataFrame(report_facts(self.record), columns=["fact", "value"])
