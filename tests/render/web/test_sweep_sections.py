"""A sweep on a page: matrices, lines over sizes, what is missing; and how large that becomes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.records.race import Bench
from onnxperf.render.kit.old_table import Table
from onnxperf.render.web.old_base import Chart
from onnxperf.results.bench import BenchResult
from tests.render import examples, gallery, sweeps
from tests.render.web.test_race_sections import charts, column, data

MEGABYTE = 10**6


def told(bench: Bench) -> dict[str, Chart]:
    return charts(BenchResult(bench).story_sections())


def layer(chart: Chart, **only: str) -> dict[str, Any]:
    shown = data(chart)
    return next((each for each in shown.get("layers", ()) if only.items() <= each["only"].items()), shown)


def test_a_map_has_a_cell_per_case_with_its_speedup() -> None:
    chart = told(sweeps.square())["Who is faster where"]
    cells = data(chart)["cells"]
    assert len(cells) == len(sweeps.BATCHES) * len(sweeps.LENGTHS)
    assert data(chart)["rows"] == [str(size) for size in sweeps.BATCHES]
    by_text = {cell["text"] for cell in cells}
    assert {"oom", "differs"} <= by_text
    assert {text for text in column(chart, "speedup") if text[0].isdigit()} == {
        text.removesuffix(" ?") for text in by_text - {"oom", "differs"}
    }


def test_a_failed_cell_says_why() -> None:
    cells = data(told(sweeps.square())["Who is faster where"])["cells"]
    failed = [cell["words"] for cell in cells if cell.get("failed")]
    assert any(sweeps.OOM in words for words in failed)
    assert any("off by 0.02" in words for words in failed)


def test_lines_part_cells_of_different_winners_only() -> None:
    cells = data(told(sweeps.square())["Who is faster where"])["cells"]
    at = {(cell["row"], cell["column"]): cell for cell in cells}
    for (row, place), cell in at.items():
        other = at.get((row, place + 1))
        is_parted = other is not None and {cell["colour"], other["colour"]} == {0, 1}
        assert bool(cell.get("right")) == is_parted


def test_with_several_rivals_one_layer_shows_who_wins_and_one_each_rival() -> None:
    both = [
        replace(case, subjects=(*case.subjects, sweeps.ms("numpy", 5.0, "faster", 2.0)))
        for case in sweeps.square().cases
    ]
    chart = told(examples.bench(*both))["Who is faster where"]
    shown = data(chart)
    assert [each["only"] for each in shown["layers"]] == [{"rival": ""}, {"rival": "torch"}, {"rival": "numpy"}]
    assert {cell["text"] for cell in layer(chart, rival="")["cells"]} >= {"numpy"}


def test_over_one_dimension_rows_are_subjects() -> None:
    chart = told(sweeps.line([0.5, "oom", "timeout", 1.2, 1.5]))["Who is faster where"]
    shown = data(chart)
    assert (shown["rows"], shown["columns"]) == (["torch"], [str(size) for size in sweeps.BATCHES])
    assert [cell["text"] for cell in shown["cells"]] == ["0.500×", "oom", "timeout", "1.200×", "1.500×"]  # noqa: RUF001


def test_models_with_one_size_each_are_the_rows_of_one_matrix() -> None:
    shown = data(told(gallery.several_models("a.onnx", "b.onnx"))["Time of a call"])
    assert [name.split(",")[0] for name in shown["rows"]] == ["a.onnx", "b.onnx"]


def test_lines_have_a_point_per_size_a_band_and_crosses_for_what_failed() -> None:
    bench = gallery.with_intervals(sweeps.line([0.5, "oom", 0.9, 1.2, 1.5]))
    chart = told(bench)["Time over batch"]
    shown = layer(chart)
    ort, torch = shown["lines"]
    assert [x for x, _ in ort["points"]] == list(sweeps.BATCHES)
    assert [len(band) for band in ort["bands"]] == [5]
    assert [len(band) for band in torch["bands"]] == [3], "a band does not bridge what was not measured"
    assert [(each["x"], each["subject"]) for each in shown["failed"]] == [(2, "torch")]
    assert len(chart.table.rows) == 10


def test_over_two_dimensions_a_select_box_chooses_the_size_of_the_other() -> None:
    chart = told(sweeps.square())["Time over seq"]
    assert [each["name"] for each in data(chart)["filters"]] == ["batch", "subject"]
    chosen = layer(chart, batch="4")
    assert [x for x, _ in chosen["lines"][0]["points"]] == list(sweeps.LENGTHS)


def test_select_boxes_point_at_columns_that_hold_their_values() -> None:
    for bench in (sweeps.square(), examples.bench(*sweeps.square().cases, *gallery.lines(3, model="cnn").cases)):
        for chart in told(bench).values():
            for box in data(chart).get("filters", ()):
                heading = chart.table.columns[box["column"]].heading
                assert set(box["values"]) <= set(column(chart, heading)), f"{chart.title}: {box['name']}"


def test_what_is_missing_is_a_table_of_reasons() -> None:
    sections = BenchResult(sweeps.square()).story_sections()
    parts = next(section.parts for section in sections if section.title == "What is missing")
    table = parts[0]
    assert isinstance(table, Table)
    assert {row.cells[-1] for row in table.rows} == {sweeps.OOM, "off by 0.02"}


def test_a_sweep_in_which_nothing_could_be_compared_has_no_map() -> None:
    found = told(sweeps.line(["oom", "oom", "timeout"]))
    assert "Who is faster where" not in found
    assert "Time of a call" in found


def test_few_cases_are_shown_race_by_race_and_many_are_not() -> None:
    assert "Every block, by round" in told(sweeps.line([0.5, 0.9, 1.1]))
    assert "Every block, by round" not in told(sweeps.square())


def test_a_page_of_many_cases_has_one_sentence_on_top_and_one_per_stretch_where_these_are_few() -> None:
    assert len(BenchResult(sweeps.square()).story().answers) == 1
    assert len(BenchResult(sweeps.line([0.5, 0.6, 1.2])).story().answers) == 3


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_hostile_names_of_models_and_dimensions_stay_text(name: str) -> None:
    cases = [replace(case, model=name, dims={name: size}) for size, case in enumerate(gallery.lines(2).cases, 1)]
    assert "<b>bold" not in BenchResult(examples.bench(*cases)).to_html()


def test_sweeps_in_which_everything_failed_have_a_page() -> None:
    bench = examples.bench(*(examples.case(examples.failed(), dims={"batch": size}) for size in (1, 2)))
    html = BenchResult(bench).to_html()
    assert "X is not contiguous" in html


def test_a_thousand_cases_stay_below_eight_megabytes() -> None:
    cases = [
        sweeps.case(*sweeps.pair(0.5 + (batch * seq) / 25_000), dims={"batch": batch, "seq": seq})
        for batch in range(1, 26)
        for seq in range(10, 410, 10)
    ]
    html = BenchResult(gallery.with_intervals(examples.bench(*cases))).to_html()
    assert len(html.encode()) < 8 * MEGABYTE
