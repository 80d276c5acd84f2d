"""What the doctor found out about this machine: a view on its record."""

from __future__ import annotations

from onnxperf.records.doctor import MachineReport
from onnxperf.render.kit.page import Page
from onnxperf.render.race.doctor import doctor_page, report_facts
from onnxperf.render.web.sections.doctor import doctor_sections
from onnxperf.results.old_base import OldResult, frame_of


class DoctorResult(OldResult[MachineReport]):
    """What `onnxperf.doctor` returns: facts, the noise of this machine, and what that means in a sentence."""

    tables = {"facts": lambda self: frame_of(report_facts(self.record), ["fact", "value"])}
    """One row per fact."""
    sections = (doctor_sections,)

    def page(self) -> Page:
        """All facts, and what they mean."""
        return doctor_page(self.record)

    @property
    def noise_band(self) -> float | None:
        """The relative difference that two equal subjects could be taken for; None where it is not known."""
        return self.record.noise_band
