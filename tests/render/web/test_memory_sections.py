"""Sections of memory and of stacks: curves with their peaks, lines, and frames in their places."""

from __future__ import annotations

from typing import Any

from onnxperf.analyze.trace.stack import functions
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.records.stack import StackFrame
from onnxperf.render.web.old_base import Chart, LinkedTable, Section
from onnxperf.render.web.sections.lines import lines_sections
from onnxperf.render.web.sections.memory import memory_sections
from onnxperf.render.web.sections.stack import stack_sections
from onnxperf.results.memory import MemoryResult
from onnxperf.results.stack import StackResult
from tests.render import examples
from tests.render.memory import examples as made
from tests.render.stack import examples as stacks


def charts(sections: list[Section]) -> list[Any]:
    return [part for section in sections for part in section.parts if isinstance(part, Chart)]


def test_a_subject_has_its_peaks_its_curve_and_a_mark_per_step() -> None:
    subject = made.subject()
    peaks, curve, *_ = charts(memory_sections(made.memory(made.case(subject))))
    assert [each["name"] for each in peaks.data["series"]] == ["load", "first call", "steady call", "needs"]
    assert len(curve.data["marks"]) == len(curve.data["spans"]) == len(subject.steps) == len(curve.table.rows)


def test_subjects_that_failed_have_no_curve_and_break_nothing() -> None:
    record = made.memory(made.case(made.failed()))
    assert memory_sections(record) == []
    assert "<!doctype html>" in MemoryResult(record).to_html()


def test_every_line_that_ran_has_a_bar() -> None:
    lines = tuple(
        LineMemory(number=number, text=f"x = {number}", occurrences=number % 2, increment_bytes=10, peak_bytes=20)
        for number in range(6)
    )
    record = MemoryLines(machine=examples.machine(), function="f", lines=lines, answer="")
    (bars,) = charts(lines_sections(record))
    assert bars.data["names"] == ["1: x = 1", "3: x = 3", "5: x = 5"]
    assert len(bars.table.rows) == 6


def frame(function: str, total: int, own: int, parent: int | None) -> StackFrame:
    return StackFrame(function=function, file="a/b.py", line=1, self_ns=own, total_ns=total, parent=parent)


def test_frames_lie_within_their_callers_one_after_the_other() -> None:
    frames = (
        frame("run", 1000, 100, None),
        frame("one", 600, 600, 0),
        frame("two", 300, 200, 0),
        frame("in", 100, 100, 2),
    )
    record = stacks.stack(frames=frames, calls=1)
    (flame,) = charts(stack_sections(record, functions(frames)))
    assert flame.data["depth"] == [0, 1, 1, 2]
    whole = flame.data["whole"]
    assert [round(each / whole, 3) for each in flame.data["start"]] == [0.0, 0.0, 0.6, 0.6]
    assert [round(each / whole, 3) for each in flame.data["width"]] == [1.0, 0.6, 0.3, 0.1]


def test_functions_and_frames_share_their_keys() -> None:
    record = stacks.stack()
    sections = StackResult(record).story_sections()
    (flame,) = charts(sections)
    (table,) = [part for section in sections for part in section.parts if isinstance(part, LinkedTable)]
    assert set(table.keys) == {each["key"] for each in flame.data["functions"]}


def test_a_stack_without_frames_has_no_flame_graph() -> None:
    assert StackResult(stacks.stack(frames=())).story_sections() == []
