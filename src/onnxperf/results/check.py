"""What a check found: a view on its record."""

from __future__ import annotations

from onnxperf.analyze.answers.check import check_answer
from onnxperf.records.check import Check, Difference
from onnxperf.render.kit.page import Page
from onnxperf.render.race.check import check_page
from onnxperf.render.web.sections.check import check_sections
from onnxperf.results.base import Result, struct_frame


class CheckResult(Result[Check]):
    """What `onnxperf.check` returns; true when both sides agree."""

    tables = {"outputs": lambda self: struct_frame(self.record.outputs, Difference)}
    """One row per output."""
    sections = (check_sections,)

    def page(self) -> Page:
        """Every output with its differences, and where they begin."""
        return check_page(self.record, self.answer)

    @property
    def answer(self) -> str:
        """Whether both sides agree, and where they do not, in plain sentences."""
        return check_answer(self.record)

    @property
    def equal(self) -> bool:
        """Whether all outputs agree."""
        return self.record.equal

    def __bool__(self) -> bool:
        """Whether all outputs agree."""
        return self.equal
