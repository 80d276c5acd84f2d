"""Charts of results."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from msgspec.structs import replace

from onnxperf.errors import BadInput, BadOption
from onnxperf.records.race import Case
from onnxperf.render.kit.old_chart import figure_of
from onnxperf.render.race.bench_chart import bench_plot
from onnxperf.results.bench import BenchResult
from onnxperf.wording.names import name_of
from tests.render import examples

FAR_APART = examples.case(examples.subject("run", 5e3), examples.subject("slow", 2e8, "slower"))


def save_plot(case: Case, path: Path) -> None:
    BenchResult(examples.bench(case)).save(path)


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_every_subject_has_a_bar_a_name_and_a_label() -> None:
    ax = bench_plot(examples.case(*examples.case().subjects[:7]))
    widths = [bar.get_width() for bar in ax.patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx([8430 / time for time in (8430, 7920, 7010, 12900, 8390, 7105, 41200)])
    assert [label.get_text() for label in ax.get_yticklabels()][:3] == ["run", "run-c", "ort-values"]
    assert texts(ax)[:2] == ["8.43 µs · baseline", "7.92 µs · 1.064× · faster"]  # noqa: RUF001
    title = figure_of(ax)._suptitle.get_text()  # type: ignore[attr-defined]
    assert title == "Speedup over run\nlinear.onnx, batch=1000"
    assert ax.get_xlabel() == "speedup, higher is better\nwhiskers: 95 % interval"


def test_whiskers_show_the_interval_of_the_speedup() -> None:
    known = replace(examples.subject("two", 4215.0, "faster"), speedup_low=1.9, speedup_high=2.1)
    ax = bench_plot(examples.case(examples.subject("run"), known))
    (whisker,) = [container for container in ax.containers if isinstance(container, ErrorbarContainer)]
    ((start, _), (end, _)) = whisker[2][0].get_segments()[-1]
    assert (start, end) == pytest.approx((1.9, 2.1))


def test_a_subject_alone_shows_its_time() -> None:
    ax = bench_plot(examples.case(examples.subject("run")))
    assert ax.get_xlabel() == "µs per call, lower is better\nwhiskers: 95 % interval"
    assert texts(ax) == ["8.43 µs · baseline"]


@pytest.mark.parametrize(
    ("case", "scale"), [(examples.case(*examples.case().subjects[:7]), "linear"), (FAR_APART, "log")]
)
def test_speedups_far_apart_get_a_logarithmic_axis_that_says_so(case: Case, scale: str) -> None:
    ax = bench_plot(case)
    assert ax.get_xscale() == scale
    assert ("logarithmic" in ax.get_xlabel()) == (scale == "log")
    assert "higher is better" in ax.get_xlabel()


def test_a_failed_subject_shows_its_status_in_place_of_a_bar() -> None:
    ax = bench_plot(examples.case(examples.subject(), examples.failed(status="timeout")))
    assert [bar.get_width() for bar in ax.patches] == [8.43, 0]  # type: ignore[attr-defined]
    assert "timeout" in texts(ax)


@pytest.mark.parametrize("case", [examples.case(examples.failed()), Case(model="m"), FAR_APART, examples.case()])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".SVG"])
def test_every_case_can_be_saved(case: Case, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"chart{suffix}"
    save_plot(case, path)
    assert path.read_bytes()[:5] in {b"\x89PNG\r", b"<?xml"}


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
def test_nasty_names_are_drawn_as_they_are(name: str, tmp_path: Path) -> None:
    case = examples.case(examples.subject(name), model=name, dims={name: 1})
    save_plot(case, tmp_path / "chart.svg")
    ax = bench_plot(case)
    (label,) = ax.get_yticklabels()
    assert label.get_text().replace("\n", "") == textwrap.fill(name_of(name), 30).replace("\n", "")
    assert not label.get_parse_math()


@pytest.mark.parametrize("count", [2, 9])
def test_no_label_leaves_the_picture_or_meets_another(count: int) -> None:
    subjects = [
        *examples.case().subjects[: count - 1],
        examples.subject("bert-base-uncased · io-binding", 2e8, "undecided"),
    ]
    ax = bench_plot(examples.case(*subjects))
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    labels = [*ax.texts, *ax.get_yticklabels(), ax.xaxis.label]
    boxes = [label.get_window_extent() for label in labels if label.get_text()]
    for box in boxes:
        assert figure.bbox.x0 <= box.x0
        assert box.x1 <= figure.bbox.x1
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_a_given_axes_is_drawn_on() -> None:
    ax = Figure().add_subplot()
    assert bench_plot(examples.case(), ax) is ax


@pytest.mark.parametrize("name", ["chart.pdf", "chart"])
def test_another_ending_lists_the_valid_ones(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=re.escape(".png, .pytest-benchmark.json, .svg, .xlsx")):
        save_plot(examples.case(), tmp_path / name)


def test_a_folder_that_does_not_exist_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot write .*No such file"):
        save_plot(examples.case(), tmp_path / "missing" / "chart.png")


def test_drawing_leaves_pyplot_alone(tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    save_plot(examples.case(), tmp_path / "chart.png")
    assert ("matplotlib.pyplot" in sys.modules) == before
