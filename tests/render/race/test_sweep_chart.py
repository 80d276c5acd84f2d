"""Charts of a sweep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from msgspec.structs import replace

from onnxperf.errors import BadOption
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.render.kit.old_chart import figure_of
from onnxperf.render.race.sweep_chart import MAX_PANELS, MAX_WRITTEN
from onnxperf.results.bench import BenchResult
from tests.render import examples, sweeps


def crossover_plot(bench: Bench, baseline: str | None = None, rival: str | None = None, **more: Any) -> Axes:
    return BenchResult(bench).crossover(baseline, rival, **more)


def sweep_plot(bench: Bench, ax: Axes | None = None) -> Axes:
    return BenchResult(bench).plot(ax)


def save_sweep(bench: Bench, path: Path) -> None:
    BenchResult(bench).save(path)


def words(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    return [] if legend is None else [text.get_text().strip() for text in legend.get_texts()]


def grid(speedups: list[list[float]]) -> Bench:
    return examples.bench(
        *(
            sweeps.case(*sweeps.pair(speedup), dims={"batch": row + 1, "seq": column + 1})
            for row, values in enumerate(speedups)
            for column, speedup in enumerate(values)
        )
    )


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
    ax = crossover_plot(sweeps.square(), "ort", "torch")
    assert ax.images[0].get_array().shape == (5, 6, 4)  # type: ignore[union-attr]
    assert len([word for word in words(ax) if word.endswith("×") or word in ("differs", "oom")]) == 30  # noqa: RUF001
    assert {"0.378×", "differs", "oom"} <= set(words(ax))  # noqa: RUF001
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "2", "4", "8", "16"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("batch", "seq")
    assert len([patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_hatch()]) == 2
    assert legend_of(ax) == [
        "torch is faster",
        "ort is faster",
        "undecided in 1 cell: the 95 % interval includes 1",
        "not compared",
        "the winner changes",
        "small print: 95 % interval of the speedup",
    ]


def test_cells_have_the_colour_and_the_word_of_their_verdict() -> None:
    ax = crossover_plot(judged([["slower", "undecided"], ["equivalent", "faster"]], speedup=0.002), "ort", "torch")
    image = ax.images[0].get_array()
    assert image is not None
    assert image[0][1].tolist() == pytest.approx(to_rgba("#D0D0D0"))
    assert image[1][0].tolist() == pytest.approx(to_rgba("#BFE3D6"))
    assert image[0][0][0] > image[0][0][2]  # orange: the baseline
    assert image[1][1][2] > image[1][1][0]  # blue: the rival
    small = [word for word in words(ax) if not word.endswith("×")]  # noqa: RUF001
    assert [word.rpartition("\n")[0] for word in small] == ["", "undecided", "equal", ""]
    assert {word.rpartition("\n")[2] for word in small} == {"0.0020…0.0020"}
    assert legend_of(ax)[2:4] == ["equally fast", "undecided in 1 cell: only 2 rounds"]
    assert "noise" not in " ".join(legend_of(ax))


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
    entries = legend_of(crossover_plot(examples.bench(*cases)))
    assert entries[2:-1] == [
        *(f"undecided in 2 cells: {reason}" for reason in "abc"),
        "undecided in 4 cells for other reasons",
    ]


@pytest.mark.parametrize("verdict", ["undecided", "faster", "slower", "equivalent"])
def test_the_map_names_both_rivals_whatever_the_verdicts(verdict: Verdict) -> None:
    ax = Figure().add_subplot()
    crossover_plot(judged([[verdict] * 2] * 2), "ort", "torch", ax=ax)
    assert legend_of(ax)[:2] == ["torch is faster", "ort is faster"]
    assert (
        figure_of(crossover_plot(judged([[verdict] * 2] * 2))).get_suptitle().startswith("Speedup of torch against ort")
    )


@pytest.mark.parametrize(
    ("verdicts", "edges"),
    [
        ([["slower", "slower"], ["slower", "faster"]], {((0.5, 0.5), (0.5, 1.5)), ((0.5, 0.5), (1.5, 0.5))}),
        ([["slower", "slower"], ["slower", "slower"]], set()),
        ([["slower", "undecided"], ["equivalent", "faster"]], set()),
        ([["undecided", "faster"], ["slower", "undecided"]], set()),
        ([["slower", "faster"], ["undecided", "undecided"]], {((0.5, -0.5), (0.5, 0.5))}),
    ],
)
def test_a_line_runs_only_where_verdicts_change(verdicts: list[list[Verdict]], edges: set[object]) -> None:
    # The estimates lie on both sides of 1 everywhere.
    ax = crossover_plot(judged(verdicts), "ort", "torch")
    drawn = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert {tuple(map(tuple, each.tolist())) for lines in drawn for each in lines.get_segments()} == edges
    assert ("the winner changes" in legend_of(ax)) == bool(edges)


def test_the_pair_can_be_turned_round_and_has_a_default() -> None:
    assert "2.00×" in words(crossover_plot(grid([[0.5, 0.5], [0.5, 0.6]]), "torch", "ort"))  # noqa: RUF001
    assert "0.500×" in words(crossover_plot(grid([[0.5, 0.5], [0.5, 0.6]])))  # noqa: RUF001
    assert "2.00×" in words(crossover_plot(grid([[0.5, 0.5], [0.5, 0.6]]), rival="ort"))  # noqa: RUF001


def test_a_grid_with_holes_and_a_large_one_are_drawn(tmp_path: Path) -> None:
    save_sweep(examples.bench(*sweeps.square().cases[3:20:2]), tmp_path / "holes.svg")
    side = int(MAX_WRITTEN**0.5) + 1
    assert words(crossover_plot(grid([[0.5] * side] * side))) == []


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("ort", "missing"), "unknown subject 'missing'; choose from: ort, torch"),
        (("ort", "ort"), "two different subjects"),
    ],
)
def test_a_pair_that_is_none_is_refused(names: tuple[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        crossover_plot(sweeps.square(), *names)


def test_a_map_needs_two_dimensions_and_one_model() -> None:
    with pytest.raises(BadOption, match=r"two dimensions .* this sweep has 1 \(batch\)"):
        crossover_plot(sweeps.line([0.5, 2.0]))
    both = examples.bench(*sweeps.square().cases, *sweeps.square(model="other.onnx").cases)
    with pytest.raises(BadOption, match=r"choose from: bert.onnx, other.onnx"):
        crossover_plot(both)
    assert "differs" in words(crossover_plot(both, model="other.onnx"))


# ---------------------------------------------------------------- lines


def test_every_subject_has_a_line_over_the_dimension() -> None:
    ax = sweep_plot(sweeps.line([0.5, 0.7, 0.9, 1.2, 1.5]))
    assert [list(map(float, line.get_xdata())) for line in ax.lines] == [[1, 2, 4, 8, 16]] * 2  # type: ignore[arg-type]
    assert legend_of(ax) == ["ort", "torch"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert "lower is better" in ax.get_ylabel()


def test_small_spans_stay_linear() -> None:
    ax = sweep_plot(sweeps.line([0.5, 0.7]))
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.get_ylabel() == "ms per call, lower is better"
    assert ax.get_ylim()[0] == 0


def test_a_failed_point_leaves_a_gap_and_its_word() -> None:
    ax = sweep_plot(sweeps.line([0.5, "oom", 0.9, 1.2]))
    assert words(ax) == ["oom ×"]  # noqa: RUF001
    assert np.isnan(np.asarray(ax.lines[1].get_ydata(), dtype=float)).tolist() == [False, True, False, False]


def with_intervals(bench: Bench, *without: int) -> Bench:
    """The sweep with an interval for each time, but for the cases of these numbers."""
    cases = []
    for number, case in enumerate(bench.cases):
        part = 0.1 if number not in without else None
        subjects = [
            replace(each, time_low_ns=each.time_ns * (1 - part), time_high_ns=each.time_ns * (1 + part))
            if part and each.time_ns
            else each
            for each in case.subjects
        ]
        cases.append(replace(case, subjects=tuple(subjects)))
    return replace(bench, cases=tuple(cases))


def bands(ax: Axes) -> list[list[tuple[float, ...]]]:
    """Left, right, lowest and highest place of every part of each band."""
    drawn = [each for each in ax.collections if isinstance(each, PolyCollection)]
    boxes = [[path.get_extents() for path in band.get_paths()] for band in drawn]
    return [[(box.x0, box.x1, box.y0, box.y1) for box in of_band] for of_band in boxes]


def test_lines_show_times_and_their_band() -> None:
    subjects = [examples.subject("ort", 10e6), examples.subject("torch", 20e6, "slower")]
    cases = [sweeps.case(*subjects, dims={"batch": batch}) for batch in (1, 2)]
    ax = sweep_plot(with_intervals(examples.bench(*cases)))
    drawn = [np.asarray(line.get_ydata(), dtype=float).tolist() for line in ax.lines]
    assert drawn == [[10e3, 10e3], [20e3, 20e3]]
    assert bands(ax) == [[pytest.approx((1, 2, 9e3, 11e3))], [pytest.approx((1, 2, 18e3, 22e3))]]
    assert legend_of(ax) == ["ort", "torch", "95 % interval of the time"]
    assert ax.get_ylabel() == "ms per call, lower is better"
    assert ax.get_ylim()[1] > 22e3
    assert figure_of(ax).get_suptitle().startswith("Time per call")


def test_an_interval_that_begins_at_zero_is_drawn_on_either_axis() -> None:
    for speedups in ([0.5, 0.7], [0.5, 0.7, 0.9, 1.1, 1.3]):
        bench = sweeps.line(speedups)
        wide = replace(bench.cases[0].subjects[0], time_low_ns=0.0, time_high_ns=3e7)
        first = replace(bench.cases[0], subjects=(wide, *bench.cases[0].subjects[1:]))
        ax = sweep_plot(replace(bench, cases=(first, *bench.cases[1:])))
        assert 0 <= ax.get_ylim()[0] < 1e4
        assert ax.get_ylim()[1] > 3e4
        assert legend_of(ax)[-1] == "95 % interval of the time"


def test_no_band_is_drawn_where_a_time_has_no_interval() -> None:
    ax = sweep_plot(sweeps.line([0.5, 0.7]))
    assert not ax.collections
    assert legend_of(ax) == ["ort", "torch"]
    ax = sweep_plot(with_intervals(sweeps.line([0.5, 0.7, 0.9, 1.1, 1.3]), 2))
    assert [part[:2] for part in bands(ax)[0]] == [(1, 2), (8, 16)]


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


@pytest.mark.parametrize(
    ("bench", "panels"),
    [
        (sweeps.square(), 1),
        (sweeps.line([0.5, 2.0]), 1),
        (examples.bench(*sweeps.square().cases, *sweeps.line([0.5, 2.0, "oom"]).cases), 2),
        (three_dims(), MAX_PANELS),
        (examples.bench(*(examples.case(model=m) for m in ("a", "b", "c"))), 3),
        (examples.bench(*(sweeps.case(sweeps.ms("ort", s), dims={"a": s, "b": b}) for s in (1, 2) for b in (1, 2))), 1),
        (examples.bench(Case(model="m", dims={"n": 0}), Case(model="m", dims={"n": 5}, status="failed")), 1),
    ],
)
def test_every_sweep_has_a_chart(bench: Bench, panels: int, tmp_path: Path) -> None:
    axes = figure_of(sweep_plot(bench)).axes
    assert len([ax for ax in axes if ax.get_visible()]) == panels
    save_sweep(bench, tmp_path / "chart.svg")
    assert (tmp_path / "chart.svg").read_bytes()[:5] == b"<?xml"


def test_a_given_axes_is_drawn_on_where_one_chart_is_all() -> None:
    for draw in (crossover_plot, sweep_plot):
        ax = Figure().add_subplot()
        assert draw(sweeps.square(), ax=ax) is ax
    ax = Figure().add_subplot()
    assert sweep_plot(sweeps.line([0.5, 2.0]), ax) is ax
    with pytest.raises(BadOption, match="20 charts do not fit on one axes"):
        sweep_plot(three_dims(), Figure().add_subplot())
    with pytest.raises(BadOption, match="no case"):
        sweep_plot(Bench(machine=examples.machine(), command="", cases=()))


@pytest.mark.parametrize("names", [examples.NASTY_NAMES[place : place + 3] for place in range(0, 21, 3)], ids=ascii)
def test_nasty_names_are_drawn_as_they_are(names: tuple[str, ...], tmp_path: Path) -> None:
    assert len(examples.NASTY_NAMES) == 21
    subjects = (sweeps.ms("ort", 1.0), *(sweeps.ms(name, 2.0, "slower", 0.5) for name in names))
    cases = [
        sweeps.case(*subjects, dims={name: a, "n": b}, model=name) for name in names for a in (1, 2) for b in (1, 2)
    ]
    save_sweep(examples.bench(*cases), tmp_path / "map.svg")
    save_sweep(examples.bench(*cases[::2]), tmp_path / "lines.svg")


def test_no_words_leave_the_picture() -> None:
    for bench in (sweeps.square(), sweeps.line([0.5, "oom", "timeout", 1.2, 1.5])):
        ax = sweep_plot(bench)
        figure = figure_of(ax)
        figure.draw_without_rendering()
        for text in [*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels(), ax.xaxis.label, ax.yaxis.label]:
            box = text.get_window_extent()
            assert figure.bbox.x0 <= box.x0
            assert box.x1 <= figure.bbox.x1
