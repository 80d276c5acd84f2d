"""Charts of a sweep: who is faster where, times over sizes, times of every case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from onnxperf.analyze.judges.crossover import crossover_map, panels_of, sweep_models
from onnxperf.errors import BadOption
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.sweep import SweepModel, SweepPanel
from onnxperf.render.charts.base import BLUE, GREY, ORANGE, Chart
from onnxperf.render.charts.matrix import Matrix, MatrixCell
from onnxperf.render.charts.plot import Plot, Series
from onnxperf.render.kit.table import grid_of
from onnxperf.render.race.subjects import looks_of
from onnxperf.render.race.sweep import sweep_charts
from onnxperf.render.race.sweep_cells import MOST_PANELS
from onnxperf.render.race.sweep_lines import lines_charts, lines_panes
from onnxperf.render.race.sweep_map import crossover_charts, map_charts
from onnxperf.render.race.sweep_matrix import times_charts
from onnxperf.results.bench import BenchResult
from tests.render import examples, sweeps

MEGABYTE = 10**6
Make = Callable[[Sequence[SweepPanel], Sequence[SweepModel], bool], list[Chart]]


def drawn(make: Make, bench: Bench, every: bool = False) -> list[Chart]:
    return make(panels_of(bench), sweep_models(bench.cases), every)


def in_file(bench: Bench) -> list[Chart]:
    return sweep_charts(panels_of(bench), sweep_models(bench.cases))


def crossover(bench: Bench, baseline: str | None = None, rival: str | None = None, model: str | None = None) -> Matrix:
    (chart,) = crossover_charts(crossover_map(bench, baseline, rival, model))
    return matrix(chart)


def matrix(chart: Chart, **only: str) -> Matrix:
    picture = next(layer.picture for layer in chart.layers if only.items() <= dict(layer.only).items())
    assert isinstance(picture, Matrix)
    return picture


def plot(chart: Chart, **only: str) -> Plot:
    picture = next(layer.picture for layer in chart.layers if only.items() <= dict(layer.only).items())
    assert isinstance(picture, Plot)
    return picture


def at(picture: Matrix) -> dict[tuple[int, int], MatrixCell]:
    return {(cell.row, cell.column): cell for cell in picture.cells}


def texts(picture: Matrix) -> list[str]:
    return [cell.text for cell in picture.cells]


def legend(picture: Matrix) -> list[str]:
    return [each.words for each in picture.legend]


def judged(verdicts: list[list[Verdict]], speedup: float | None = None) -> Bench:
    """Torch with these verdicts; its speedups lie above and below 1 in turn."""

    def rival(verdict: Verdict, odd: bool) -> Subject:
        return sweeps.ms("torch", 10.0, verdict, speedup or (1.5 if odd else 0.5), reason="only 2 rounds")

    return examples.bench(
        *(
            sweeps.case(sweeps.ms("ort", 10.0), rival(verdict, bool((row + column) % 2)), dims={"a": row, "b": column})
            for row, values in enumerate(verdicts)
            for column, verdict in enumerate(values)
        )
    )


# ---------------------------------------------------------------- the map


def test_the_map_has_a_cell_per_case_with_its_speedup_or_its_word() -> None:
    picture = crossover(sweeps.square(), "ort", "torch")
    assert (picture.row_name, picture.rows) == ("batch", ["1", "2", "4", "8", "16"])
    assert (picture.column_name, len(picture.columns), len(picture.cells)) == ("seq", 6, 30)
    cells = at(picture)
    assert (cells[1, 0].text, cells[1, 0].small, cells[1, 0].bold) == ("0.38×", "0.37–0.38", True)
    assert cells[0, 5].text == "1.01× ?"
    assert [cell.text for cell in picture.cells if cell.failed] == ["differs", "oom"]
    assert legend(picture) == [
        "torch is faster",
        "ort is faster",
        "? undecided in 1 cell: the 95 % CI includes 1",
        "not compared",
    ]


def test_a_failed_cell_says_why() -> None:
    failed = {cell.text: cell.words for cell in crossover(sweeps.square()).cells if cell.failed}
    assert "batch=16, seq=500" in failed["oom"]
    assert sweeps.OOM in failed["oom"]
    assert "off by 0.02" in failed["differs"]


def test_cells_have_the_color_of_who_is_faster_pale_if_undecided_and_gray_if_equal() -> None:
    bench = judged([["slower", "undecided"], ["equivalent", "faster"]], speedup=0.002)
    picture, looks = crossover(bench, "ort", "torch"), looks_of(bench.cases)
    colors = {place: cell.color for place, cell in at(picture).items()}
    assert (colors[0, 0], colors[1, 1]) == (looks["ort"].color, looks["torch"].color)
    assert (colors[0, 1], colors[1, 0]) == (looks["ort"].color, GREY)
    strengths = {place: cell.strength for place, cell in at(picture).items()}
    assert strengths[1, 0] < strengths[0, 1] < strengths[0, 0] == strengths[1, 1]
    assert legend(picture)[2:4] == ["equally fast", "? undecided in 1 cell: only 2 rounds"]
    assert "noise" not in " ".join(legend(picture))


def test_reasons_beyond_the_most_frequent_share_an_entry() -> None:
    cases = [
        sweeps.case(
            sweeps.ms("ort", 1.0),
            sweeps.ms("torch", 9.0, "undecided", 0.1, reason="abcde"[column - 1]),
            dims={"batch": row, "seq": column},
        )
        for row in (1, 2)
        for column in range(1, 6)
    ]
    assert legend(crossover(examples.bench(*cases)))[2:] == [
        *(f"? undecided in 2 cells: {reason}" for reason in "abc"),
        "? undecided in 4 cells for other reasons",
    ]


@pytest.mark.parametrize("verdict", ["undecided", "faster", "slower", "equivalent"])
def test_the_map_names_both_rivals_whatever_the_verdicts(verdict: Verdict) -> None:
    (chart,) = in_file(judged([[verdict] * 2] * 2))
    assert chart.title == "Speedup of torch against ort"
    assert legend(matrix(chart))[:2] == ["torch is faster", "ort is faster"]
    assert f"4 {verdict}" in chart.summary


@pytest.mark.parametrize(
    ("verdicts", "edges"),
    [
        ([["slower", "slower"], ["slower", "faster"]], {(0, 1, "below"), (1, 0, "right")}),
        ([["slower", "slower"], ["slower", "slower"]], set()),
        ([["slower", "undecided"], ["equivalent", "faster"]], set()),
        ([["undecided", "faster"], ["slower", "undecided"]], set()),
        ([["slower", "faster"], ["undecided", "undecided"]], {(0, 0, "right")}),
    ],
)
def test_a_line_runs_only_where_verdicts_change(verdicts: list[list[Verdict]], edges: set[object]) -> None:
    # The estimates lie on both sides of 1 everywhere.
    cells = crossover(judged(verdicts), "ort", "torch").cells
    found = {(cell.row, cell.column, edge) for cell in cells for edge in ("right", "below") if getattr(cell, edge)}
    assert found == edges


def test_the_pair_can_be_turned_round_and_has_a_default() -> None:
    bench = judged([["slower"] * 2] * 2, speedup=0.5)
    assert set(texts(crossover(bench, "torch", "ort"))) == {"2.00×"}
    assert set(texts(crossover(bench))) == {"0.50×"}
    assert set(texts(crossover(bench, rival="ort"))) == {"2.00×"}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ort", "missing"), "unknown subject 'missing'; choose from: ort, torch"),
        (("ort", "ort"), "two different subjects"),
    ],
)
def test_a_pair_that_is_none_is_refused(names: tuple[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        crossover(sweeps.square(), *names)


def test_a_map_needs_two_dimensions_and_one_model() -> None:
    with pytest.raises(BadOption, match=r"two dimensions .* this sweep has 1 \(batch\)"):
        crossover(sweeps.line([0.5, 2.0]))
    both = examples.bench(*sweeps.square().cases, *sweeps.square(model="other.onnx").cases)
    with pytest.raises(BadOption, match=r"choose from: bert.onnx, other.onnx"):
        crossover(both)
    assert "differs" in texts(crossover(both, model="other.onnx"))


def test_a_page_shows_who_wins_and_a_map_for_each_rival_and_a_file_the_usual_one() -> None:
    bench = sweeps.with_rival(sweeps.square())
    (chart,) = drawn(map_charts, bench, every=True)
    assert [dict(layer.only) for layer in chart.layers] == [{"rival": "torch"}, {"rival": "numpy"}, {"rival": ""}]
    assert [(box.name, box.values, box.everything) for box in chart.filters] == [
        ("rival", ["torch", "numpy"], "all: who wins")
    ]
    assert {"numpy", "torch"} <= set(texts(matrix(chart, rival="")))
    assert "torch wins" in legend(matrix(chart, rival=""))
    (alone,) = in_file(bench)
    assert texts(matrix(alone)) == texts(matrix(chart, rival="torch"))


def test_over_one_dimension_rows_are_subjects() -> None:
    picture = matrix(drawn(map_charts, sweeps.line([0.5, "oom", "timeout", 1.2, 1.5]), every=True)[0])
    assert (picture.rows, picture.columns) == (["torch"], [str(size) for size in sweeps.BATCHES])
    assert texts(picture) == ["0.50×", "oom", "timeout", "1.20×", "1.50×"]


def test_a_cell_whose_baseline_has_no_time_compares_nothing() -> None:
    lost = sweeps.case(
        examples.failed("ort", "oom", sweeps.OOM),
        sweeps.ms("torch", 3.0),
        sweeps.ms("numpy", 9.0, "slower", 1 / 3),
        dims={"batch": 32},
        baseline="torch",
        model="resnet.onnx",
    )
    bench = examples.bench(*sweeps.with_rival(sweeps.line([0.5, 2.0])).cases, lost)
    picture = matrix(drawn(map_charts, bench, every=True)[0])
    assert [at(picture)[row, 2].text for row in (0, 1)] == ["oom", "oom"]
    assert f"ort: oom: {sweeps.OOM}" in at(picture)[1, 2].words


def test_a_sweep_in_which_nothing_could_be_compared_has_no_map() -> None:
    bench = sweeps.line(["oom", "oom", "timeout"])
    assert drawn(map_charts, bench, every=True) == []
    times = at(matrix(drawn(times_charts, bench)[0]))
    assert [times[0, column].text for column in range(3)] == ["10.0 ms", "20.0 ms", "40.0 ms"]


def test_the_table_has_every_duel_with_its_reason() -> None:
    (chart,) = drawn(map_charts, sweeps.square(), every=True)
    grid = grid_of(chart.table)
    rows = [
        dict(zip((c.heading for c in grid.columns), (c.text for c in line.cells), strict=True)) for line in grid.lines
    ]
    assert len(rows) == 30
    assert rows[5]["why"] == "the 95 % CI includes 1"
    assert (rows[-1]["verdict"], rows[-1]["why"]) == ("⛔ oom", sweeps.OOM)
    assert (rows[0]["against"], rows[0]["speedup"], rows[0]["95 % CI"]) == ("ort", "0.319×", "0.314–0.324")


# ---------------------------------------------------------------- lines


def test_every_subject_has_a_line_over_the_dimension_in_its_color() -> None:
    bench = sweeps.line([0.5, 0.7, 0.9, 1.2, 1.5])
    (chart,) = in_file(bench)
    ort, torch = plot(chart).series
    assert (ort.name, ort.xs, ort.ys) == ("ort", [1, 2, 4, 8, 16], [1e7, 2e7, 4e7, 8e7, 16e7])
    looks = looks_of(bench.cases)
    assert [each.color for each in (ort, torch)] == [looks["ort"].color, looks["torch"].color]
    assert (plot(chart).x.is_log, plot(chart).y.is_log) == (True, True)
    assert [words for _, words in plot(chart).x.ticks] == ["1", "2", "4", "8", "16"]


def test_small_spans_stay_linear_from_zero() -> None:
    (chart,) = in_file(sweeps.line([0.5, 0.7]))
    picture = plot(chart)
    assert (picture.x.is_log, picture.y.is_log, picture.y.low) == (False, False, 0.0)
    assert picture.y.title == "time per call (ms)"


def test_a_failed_point_leaves_a_gap_and_its_word_above_all_times() -> None:
    (chart,) = in_file(sweeps.line([0.5, "oom", 0.9, 1.2]))
    picture = plot(chart)
    (mark,) = picture.marks
    assert (mark.x, mark.symbol, mark.text, mark.series) == (2.0, "cross", "oom", "torch")
    assert sweeps.OOM in mark.words
    assert max(y for each in picture.series for y in each.ys if y) < mark.y < picture.y.high
    assert [y is None for y in picture.series[1].ys] == [False, True, False, False]
    assert "Crosses on top are cases without a time." in chart.summary


def test_what_fails_at_one_size_has_a_lane_for_each_subject() -> None:
    cases = [
        sweeps.case(sweeps.ms("ort", 1.0), *(examples.failed(name, "oom") for name in "ab"), dims={"batch": size})
        for size in (1, 2)
    ]
    (chart,) = in_file(examples.bench(*cases))
    heights = {mark.series: mark.y for mark in plot(chart).marks}
    assert len(plot(chart).marks) == 4
    assert heights["a"] != heights["b"]


def test_lines_have_a_band_of_their_intervals_that_bridges_no_gap() -> None:
    bench = sweeps.with_intervals(sweeps.line([0.5, "oom", 0.9, 1.2, 1.5]), 0.1)
    ort, torch = plot(in_file(bench)[0]).series
    assert ort.lows == pytest.approx([0.9 * y for y in ort.ys if y])
    assert [low is None for low in torch.lows] == [False, True, False, False, False]
    assert "95 % CI" in ort.words[0]
    assert "in bands of its 95 % CI" in in_file(bench)[0].summary


def test_an_interval_that_begins_at_zero_is_drawn_on_either_axis() -> None:
    for speedups in ([0.5, 0.7], [0.5, 0.7, 0.9, 1.1, 1.3]):
        picture = plot(in_file(sweeps.with_intervals(sweeps.line(speedups), 1.0))[0])
        assert picture.series[0].lows == pytest.approx([picture.y.low] * len(speedups), rel=1e-5)


def test_over_two_dimensions_a_page_has_a_picture_and_a_file_a_line_for_each_size_of_the_other() -> None:
    bench = examples.bench(
        *(
            sweeps.case(sweeps.ms("ort", 1.0 + batch * seq), dims={"batch": batch, "seq": seq})
            for batch in (1, 2)
            for seq in (10, 20, 30)
        )
    )
    panes = lines_panes(panels_of(bench), sweep_models(bench.cases))
    over_batch, over_seq = ([each for each in panes if dim in each.title.split(", ")[0]] for dim in ("batch", "seq"))
    assert [each.title for each in over_seq] == ["Time over seq, batch=1", "Time over seq, batch=2"]
    assert len(over_batch) == 3
    assert plot(over_seq[1]).series[0].xs == [10, 20, 30]
    assert len({(plot(each).y.low, plot(each).y.high) for each in over_seq}) == 1
    (chart,) = in_file(bench)
    found = plot(chart).series
    assert [each.name for each in found] == ["ort, seq=10", "ort, seq=20", "ort, seq=30"]
    assert len({each.symbol for each in found}) == len({each.color for each in found}) == 3


def test_of_several_subjects_symbols_tell_the_sizes_apart() -> None:
    (chart,) = lines_charts(panels_of(sweeps.square()), sweep_models(sweeps.square().cases))
    found: list[Series] = list(plot(chart).series)
    assert {(each.name.split(",")[0], each.color) for each in found} == {("ort", BLUE), ("torch", ORANGE)}
    assert len({(each.color, each.symbol) for each in found}) == len(found)


@pytest.mark.parametrize("dims", [{}, {"seq": 8}])
def test_where_everything_failed_nothing_is_drawn(dims: dict[str, int]) -> None:
    cases = [Case(model="m", dims={"n": size} | {name: by * size for name, by in dims.items()}) for size in (1, 5)]
    bench = examples.bench(*cases)
    assert in_file(bench) == lines_panes(panels_of(bench), sweep_models(bench.cases)) == []


# ---------------------------------------------------------------- times of every case


def test_the_slower_a_case_the_stronger_its_color() -> None:
    (chart,) = drawn(times_charts, sweeps.square(), every=True)
    cells = at(matrix(chart, subject="ort"))
    assert (cells[0, 0].text, cells[0, 0].strength) == ("5.50 ms", 0.1)
    assert (cells[4, 5].text, cells[4, 5].strength) == ("1.20 s", 0.9)
    assert legend(matrix(chart, subject="ort")) == ["5.50 ms", "1.20 s"]
    assert "from 5.50 ms to 1.20 s" in chart.summary


def test_models_with_one_size_each_are_the_rows_of_one_matrix() -> None:
    bench = examples.bench(*(sweeps.case(*sweeps.pair(2.0), dims={}, model=name) for name in ("a.onnx", "b.onnx")))
    (chart,) = in_file(bench)
    assert (matrix(chart).rows, matrix(chart).columns) == (["a.onnx", "b.onnx"], ["torch"])
    (times,) = drawn(times_charts, bench)
    assert matrix(times).columns == ["ort", "torch"]


# ---------------------------------------------------------------- what suits a sweep


def three_dims() -> Bench:
    return examples.bench(
        *(
            sweeps.case(*sweeps.pair(0.5), dims={"a": a, "b": b, "c": c})
            for a in (1, 2)
            for b in (1, 2)
            for c in range(20)
        )
    )


ODD = [
    (sweeps.square(), ["matrix"], 1),
    (sweeps.line([0.5, 2.0]), ["plot"], 1),
    (examples.bench(*sweeps.square().cases, *sweeps.line([0.5, 2.0, "oom"]).cases), ["matrix", "plot"], 2),
    (three_dims(), ["matrix"], MOST_PANELS),
    (examples.bench(*(examples.case(model=m) for m in ("a", "b", "c"))), ["matrix"], 1),
    (
        examples.bench(*(sweeps.case(sweeps.ms("ort", s), dims={"a": s, "b": b}) for s in (1, 2) for b in (1, 2))),
        ["plot"],
        1,
    ),
    (examples.bench(*sweeps.square().cases[3:20:2]), ["matrix"], 1),
    (Bench(machine=examples.machine(), command="", cases=()), [], 0),
]


@pytest.mark.parametrize(("bench", "kinds", "panels"), ODD)
def test_every_sweep_has_the_charts_that_suit_it(bench: Bench, kinds: list[str], panels: int) -> None:
    charts = in_file(bench)
    assert [chart.kind for chart in charts] == kinds
    assert sum(len(chart.layers) for chart in charts) == panels


def test_a_file_says_how_many_panels_it_leaves_out() -> None:
    (chart,) = in_file(three_dims())
    assert "Of 20 panels, the first 12 are shown; the HTML page has all." in chart.summary
    assert len(drawn(map_charts, three_dims(), every=True)[0].layers) == 20


def test_select_boxes_point_at_columns_that_hold_their_values() -> None:
    alone = sweeps.case(*sweeps.pair(2.0), dims={}, model="tiny")
    many = [*sweeps.with_rival(sweeps.square()).cases, *sweeps.line([0.5, 2.0], model="cnn").cases]
    both = examples.bench(*many, alone)
    for make in (map_charts, times_charts):
        for chart in drawn(make, both, every=True):
            grid = grid_of(chart.table)
            for box in chart.filters:
                assert box.column is not None
                assert set(box.values) <= {line.cells[box.column].text for line in grid.lines}, box.name


# ---------------------------------------------------------------- pages


def parts_of(bench: Bench) -> dict[str, list[Any]]:
    return {section.title: list(section.parts) for section in BenchResult(bench).story().sections}


def test_what_is_missing_is_a_table_of_reasons() -> None:
    (table,) = parts_of(sweeps.square())["What is missing"]
    assert [line.cells[-1].text for line in grid_of(table).lines] == ["off by 0.02", sweeps.OOM]


def test_a_case_that_failed_as_a_whole_is_missing_for_all_subjects() -> None:
    broken = Case(model="resnet.onnx", dims={"batch": 2}, status="failed", answer="no such file")
    (table,) = parts_of(examples.bench(*sweeps.line([0.5]).cases, broken))["What is missing"]
    (line,) = grid_of(table).lines
    assert [cell.text for cell in line.cells] == ["resnet.onnx", "all", "2", "failed", "no such file"]


def test_few_cases_are_shown_race_by_race_and_many_are_not() -> None:
    assert "Blocks and single calls" not in parts_of(sweeps.square())
    assert parts_of(examples.bench(*sweeps.square().cases[:3]))["Who is faster where"]


def test_a_page_of_many_cases_has_one_answer_on_top_and_one_per_stretch_if_these_are_few() -> None:
    (answer,) = BenchResult(sweeps.square()).story().answers
    assert answer.shown == "✓ ort wins 14 of 30 cases, torch wins 13, no winner in 3."
    assert len(parts_of(sweeps.square())["Winners by size"]) == 10
    assert len(BenchResult(sweeps.line([0.5, 0.6, 1.2])).story().answers) == 3


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_hostile_names_of_models_and_dimensions_stay_text(name: str) -> None:
    subjects = (sweeps.ms("ort", 1.0), sweeps.ms(name, 2.0, "slower", 0.5))
    cases = [sweeps.case(*subjects, dims={name: a, "n": b}, model=name) for a in (1, 2) for b in (1, 2)]
    for bench in (examples.bench(*cases), examples.bench(*cases[::2])):
        html = BenchResult(bench).to_html()
        assert "<b>bold" not in html
        assert "\x1b" not in html


def test_sweeps_in_which_everything_failed_have_a_page() -> None:
    bench = examples.bench(*(examples.case(examples.failed(), dims={"batch": size}) for size in (1, 2)))
    assert "X is not contiguous" in BenchResult(bench).to_html()


def test_a_thousand_cases_stay_below_eight_megabytes() -> None:
    cases = [
        sweeps.case(*sweeps.pair(0.5 + (batch * seq) / 25_000), dims={"batch": batch, "seq": seq})
        for batch in range(1, 26)
        for seq in range(10, 410, 10)
    ]
    html = BenchResult(sweeps.with_intervals(examples.bench(*cases))).to_html()
    assert len(html.encode()) < 8 * MEGABYTE
