"""What a gate found: a view on its record."""

from __future__ import annotations

from onnxperf.analyze.judges.gate import final_outcome
from onnxperf.records.gate import CONTROL, Gate, GateControl, GateLimit
from onnxperf.render.kit.page import Page
from onnxperf.render.race.gate import gate_page
from onnxperf.render.race.junit import junit_xml
from onnxperf.render.race.pytest_benchmark import SUFFIX, pytest_benchmark_json
from onnxperf.render.web.base import Section
from onnxperf.render.web.sections.gate import gate_sections
from onnxperf.results.base import Result, struct_frame
from onnxperf.results.formats import Format


class GateResult(Result[Gate]):
    """What `onnxperf.gate` returns; true when the new model passes."""

    tables = {
        "limits": lambda self: struct_frame(self.record.limits, GateLimit),
        "controls": lambda self: struct_frame(self.record.controls, GateControl),
    }
    """One row per limit, and per control, of every case."""
    own_formats = {
        ".xml": Format("a test case per limit, as JUnit XML", lambda result, _: junit_xml(result.record)),
        SUFFIX: Format(
            "the races as pytest-benchmark writes its own",
            lambda result, _: pytest_benchmark_json(result.record.races, result.record.machine, without=[CONTROL]),
        ),
    }

    def page(self) -> Page:
        """Every limit and every control, and the outcome."""
        return gate_page(self.record, self.answer)

    def story_sections(self) -> list[Section]:
        """The ratios beside their limits, then the races."""
        return gate_sections(self.record)

    @property
    def has_answer(self) -> bool:
        """Whether it passes or fails."""
        return final_outcome(self.record) != "undecided"

    def __bool__(self) -> bool:
        """Whether the new model passes."""
        return final_outcome(self.record) == "passed"
