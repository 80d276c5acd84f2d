"""What a gate found: a view on its record."""

from __future__ import annotations

from onnxperf.analyze.judges.gate import final_outcome
from onnxperf.records.gate import CONTROL, Gate
from onnxperf.render.race.gate import controls_table, gate_page, limits_charts, limits_table
from onnxperf.render.race.junit import junit_xml
from onnxperf.render.race.pytest_benchmark import SUFFIX, pytest_benchmark_json
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

SHOW = Show(
    Gate,
    "gate",
    gate_page,
    tables={"limits": limits_table, "controls": controls_table},
    charts={"limits": limits_charts, **charts_of_races(lambda gate: gate.races)},
    own={
        ".xml": Format("a test case per limit, as JUnit XML", lambda result, _: junit_xml(result.record)),
        SUFFIX: Format(
            "the races as pytest-benchmark writes its own",
            lambda result, _: pytest_benchmark_json(result.record.races, result.record.machine, without=[CONTROL]),
        ),
    },
)


class GateResult(Result[Gate]):
    """What `onnxperf.gate` returns; true when the new model passes."""

    show = SHOW

    @property
    def has_answer(self) -> bool:
        """Whether it passes or fails."""
        return final_outcome(self.record) != "undecided"

    def __bool__(self) -> bool:
        """Whether the new model passes."""
        return final_outcome(self.record) == "passed"
