"""Views on a stack."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from onnxperf.errors import BadOption
from onnxperf.measure.worker import python_stack
from onnxperf.records.stack import Stack
from onnxperf.results.stack import StackResult
from tests.render.stack import examples as made

pytest.importorskip("pyinstrument")


@pytest.fixture(scope="module")
def session() -> dict[str, object]:
    found: dict[str, object] = json.loads(python_stack.sample(lambda: sum(range(20_000)), 50, 0.0001))
    return found


@pytest.fixture
def native(session: dict[str, object]) -> StackResult:
    return StackResult(made.stack(), session, made.SAMPLES, "<html>memray</html>")


def test_every_kind_of_file_is_written(native: StackResult, tmp_path: Path) -> None:
    for suffix in native.formats():
        native.save(tmp_path / f"s{suffix}")
        assert (tmp_path / f"s{suffix}").stat().st_size
    assert (tmp_path / "s.memray.html").read_text() == "<html>memray</html>"
    assert json.loads((tmp_path / "s.speedscope.json").read_text())["exporter"] == "onnxperf"
    assert json.loads((tmp_path / "s.json").read_text())["name"] == "sgd"
    assert "FLOAT_add" in (tmp_path / "s.svg").read_text()
    for part in ("call_again", "Time in each function itself", "Busiest functions", native.answer):
        assert part in (tmp_path / "s.txt").read_text()


def test_without_native_frames_speedscope_gets_the_tree_and_a_picture_the_functions(session: dict[str, object]) -> None:
    result = StackResult(made.stack(), session)
    assert "pyinstrument" in json.loads(result.speedscope())["exporter"]
    assert "<html" in result.html()
    assert [chart.title for chart in result.charts()] == ["Self time per function"]
    with pytest.raises(BadOption, match="`native`"):
        result.charts("native")
    with pytest.raises(BadOption, match="`allocations`"):
        result.memray()


def test_an_unknown_kind_of_file_is_refused(native: StackResult, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"\.pdf"):
        native.save(tmp_path / "s.pdf")


def test_a_row_per_function_and_the_record_comes_back_from_json(native: StackResult) -> None:
    again = made.stack(frames=(*made.stack().frames, replace(made.stack().frames[1])))
    assert list(StackResult(again).to_df()["function"]) == ["run", "take"]
    assert list(StackResult(again).table("tree_functions")["places"]) == [1, 2]
    assert list(StackResult(again).table("frames")["function"]) == ["run", "take", "take"]
    assert list(native.table("native")["function"]) == ["FLOAT_add"]
    assert msgspec.json.decode(native.to_json(), type=Stack) == native.record


def test_it_shows_itself_in_a_notebook(native: StackResult) -> None:
    assert "call_again" in repr(native)
    assert native.answer in repr(native)
    assert "\x1b" not in repr(native)
    assert "<pre>" in native._repr_html_()


def test_from_its_record_alone_it_shows_functions_and_refuses_what_needs_the_samples(tmp_path: Path) -> None:
    stored = StackResult(made.stack())
    assert "Time in each function itself" in repr(stored)
    for suffix in (".json", ".md", ".csv", ".png", ".html"):
        stored.save(tmp_path / f"s{suffix}")
    for suffix in (".txt", ".pyinstrument.html", ".speedscope.json"):
        with pytest.raises(BadOption, match="from the store has no samples"):
            stored.save(tmp_path / f"s{suffix}")
