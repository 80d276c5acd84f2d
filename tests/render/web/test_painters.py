"""Charts as a browser draws their descriptions: the same ticks, names and order; selection, zoom and narrow pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from onnxperf.render.charts.base import DARK, LIGHT, Axis, Layer, linear_ticks, log_ticks
from tests.depth import some
from tests.render.web.browser import BLANK, CHROMIUM, FAINT, Opened, draw_all, opened_page
from tests.render.web.painted import CHARTS, NODES, write_page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]

WRITTEN = """(figure) => figure.chart.getZr().storage.getDisplayList(true)
  .filter((each) => each.type === "tspan" && !each.ignore && !each.invisible)
  .map((each) => [each.style.text, ...each.transformCoordToGlobal(each.style.x, each.style.y)])"""
"""All words on the canvas, with their places."""
PRESS = """([figure, x, y]) => {
  const [left, top] = figure.chart.convertToPixel({ gridIndex: 0 }, [x, y]);
  const box = figure.querySelector("canvas").getBoundingClientRect();
  return [box.left + left, box.top + top];
}"""
"""Where the window has a place of a chart."""


class Figure(NamedTuple):
    """A chart that was drawn."""

    page: Any
    handle: Any

    def written(self) -> list[str]:
        """Its words, from the top."""
        found = self.handle.evaluate(WRITTEN)
        return [text for text, _, _ in sorted(found, key=lambda each: (round(each[2]), each[1]))]

    def option(self, path: str) -> Any:
        """What was handed to the library."""
        return self.handle.evaluate(f"(figure) => figure.chart.getOption().{path}")

    def view(self) -> list[float]:
        """Where the zoom begins and ends, in percent."""
        self.settle()
        first = self.option("dataZoom[0]")
        return [round(first["start"], 6), round(first["end"], 6)]

    def settle(self) -> None:
        """Until what happens with the next picture has happened."""
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of the window."""
        left, top = self.page.evaluate(PRESS, [self.handle, x, y])
        return left, top

    def click(self, x: float, y: float) -> None:
        """Click at a place of the data."""
        self.page.mouse.click(*self.place(x, y))
        self.settle()

    def button(self, label: str) -> None:
        """Press one of its buttons."""
        self.handle.query_selector(f"button[aria-label='{label}']").click()
        self.settle()

    def press(self, key: str) -> None:
        """Press a key while it has the focus."""
        self.handle.query_selector(".canvas").press(key)
        self.settle()


@contextmanager
def drawn(browser: Any, folder: Path, *names: str, width: int = 1200, dark: bool = False) -> Iterator[Opened]:
    """A page of these charts, all of them drawn; nothing is complained about or requested."""
    with opened_page(browser, write_page(folder / "charts.html", *names), width, dark) as opened:
        draw_all(opened.page)
        opened.page.evaluate("scrollTo(0, 0)")
        yield opened
        assert (opened.complaints, opened.requests) == ([], [])


@pytest.fixture(scope="module")
def all_drawn(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Figure]]:
    """A page of all charts, for tests that only read."""
    with drawn(browser, tmp_path_factory.mktemp("charts")) as opened:
        page = opened.page
        yield lambda name: Figure(page, page.query_selector(f"figure.chart:has(h3:text-is('{name}'))"))


@pytest.fixture
def figure_of(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Figure]]:
    """A page of one chart, for tests that change it."""
    with ExitStack() as stack:

        def open_one(name: str, width: int = 1200) -> Figure:
            page = stack.enter_context(drawn(browser, tmp_path, name, width=width)).page
            return Figure(page, page.query_selector("figure.chart"))

        yield open_one


def picture_of(name: str) -> Any:
    return CHARTS[name]()[0].layers[0].picture


# ---------------------------------------------------------------- everything is drawn


@pytest.mark.parametrize(
    ("width", "dark"), some([(width, dark) for width in (390, 1024, 1440) for dark in (False, True)], every=3)
)
def test_every_kind_is_drawn_and_readable_on_every_width(browser: Any, tmp_path: Path, width: int, dark: bool) -> None:
    with drawn(browser, tmp_path, width=width, dark=dark) as opened:
        figures = opened.page.query_selector_all("figure.chart")
        assert len(figures) == len(CHARTS)
        assert not [each.inner_text() for each in figures if each.evaluate(BLANK)]
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
        assert opened.page.evaluate(FAINT) == []


@pytest.mark.parametrize("name", ["bars", "many bars", "sizes", "histogram", "history", "samples", "timeline"])
def test_ticks_are_those_of_the_description(all_drawn: Callable[[str], Figure], name: str) -> None:
    picture = picture_of(name)
    axes: list[Axis] = [getattr(picture, each) for each in ("axis", "x", "y") if hasattr(picture, each)]
    written = all_drawn(name).written()
    for axis in axes:
        assert [words for _, words in axis.ticks if words not in written] == []
        assert not axis.title or axis.title in written


@pytest.mark.parametrize("name", ["bars", "paired bars", "many bars", "matrix"])
def test_rows_have_the_order_of_the_description(all_drawn: Callable[[str], Figure], name: str) -> None:
    picture = picture_of(name)
    rows = getattr(picture, "names", ()) or getattr(picture, "rows", ())
    names = rows or [mark.name for mark in picture.marks]
    short = [each for each in names if len(each) < 30]
    written = [each for each in all_drawn(name).written() if each in short]
    assert list(dict.fromkeys(written))[-len(short) :] == short


def test_bars_of_a_row_have_the_order_of_the_legend(all_drawn: Callable[[str], Figure]) -> None:
    written = all_drawn("paired bars").written()
    assert written.index("before") < written.index("after")
    assert written.index("5.00 ms") < written.index("2.00 ms") < written.index("3.00 ms")


def test_words_of_bars_stay_in_the_chart(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("bars", width=390)
    assert {"1.80 ms", "900 µs", "420 µs", "110 µs", "20.0 µs"} <= set(figure.written())
    ends = figure.handle.evaluate(WRITTEN)
    assert max(x for _, x, _ in ends) < figure.handle.query_selector("canvas").bounding_box()["width"]


def test_a_long_name_loses_its_middle(figure_of: Callable[..., Figure]) -> None:
    (short,) = [each for each in figure_of("bars", width=390).written() if "…" in each]
    assert short.startswith("/enc")
    assert short.endswith("on")


def test_what_lies_beyond_an_axis_is_an_arrow_with_its_value(all_drawn: Callable[[str], Figure]) -> None:
    assert all_drawn("samples").written().count("9.00 ms") == 3


def test_spans_of_one_name_share_an_entry_of_the_legend(all_drawn: Callable[[str], Figure]) -> None:
    figure = all_drawn("memory")
    entries = [each["name"] for each in figure.option("legend[0].data")]
    assert entries == ["resident", "load", "first call", "steady call", "peak", "highest sample"]
    assert {"250 MB", "390 MB", "limit 345 MB"} <= set(figure.written())


def test_a_matrix_writes_whole_numbers_or_none(figure_of: Callable[..., Figure]) -> None:
    roomy, narrow = (figure_of("matrix", width).written() for width in (1200, 390))
    assert {"1.10×", "1.06–1.15", "out of memory", "no time"} <= set(roomy)
    crowded = figure_of("matrix of models", 390).written()
    assert not [each for each in [*narrow, *crowded] if re.match(r"\d.*…", each)]


# ---------------------------------------------------------------- what is selected


def test_a_row_of_a_table_lights_what_stands_for_it_in_all_charts(browser: Any, tmp_path: Path) -> None:
    with drawn(browser, tmp_path, "arena", "roofline", "timeline") as opened:
        page = opened.page
        page.locator("tr[data-key='node 7'] button").click()
        arena, roofline, timeline = (Figure(page, each) for each in page.query_selector_all("figure.chart"))
        timeline.settle()
        lines = arena.handle.evaluate(
            "(figure) => figure.chart.getOption().series.flatMap((each) => each.markLine?.data ?? [])"
            ".map((each) => each.xAxis)"
        )
        assert 7 in lines
        lit = roofline.handle.evaluate(
            "(figure) => figure.chart.getOption().series.flatMap((each) => each.data)"
            ".filter((each) => each?.itemStyle?.borderWidth === 3).map((each) => each.key)"
        )
        assert set(lit) == {"node 7"}
        marks = timeline.handle.evaluate(
            "(figure) => figure.marks().filter((each) => each.lit).map((each) => each.key)"
        )
        assert set(marks) == {"node 7"}


@pytest.mark.parametrize(
    ("name", "place", "key"), [("arena", (12.2, 1e6), "node 12"), ("timeline", (1200.0, 1), "node 25")]
)
def test_a_click_in_a_chart_selects_its_row(
    figure_of: Callable[..., Figure], name: str, place: tuple[float, float], key: str
) -> None:
    figure = figure_of(name)
    figure.click(*place)
    assert figure.page.locator("tr.selected").get_attribute("data-key") == key


def test_a_click_on_a_bar_selects_its_row_and_lights_the_bar(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("bars")
    figure.click(2e5, 1)
    assert figure.page.evaluate("onnxperf.selected") == "Softmax"
    widths = [each["itemStyle"]["borderWidth"] for each in figure.option("series[0].data")]
    assert widths == [0, 2, 0, 0, 0]


def test_a_selected_node_out_of_view_is_brought_into_view(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("arena")
    figure.button("Zoom in")
    figure.button("Zoom in")
    figure.page.locator("tr[data-key='node 1'] button").click()
    start, end = figure.view()
    assert end - start == pytest.approx(25)
    assert start < 100 * 3 / 43 < end  # the axis goes from -1.95 to 40.95


# ---------------------------------------------------------------- zoom


@pytest.mark.parametrize("name", ["memory", "samples", "roofline", "20,000 spans", "flame"])
def test_charts_zoom_by_buttons_and_keys(figure_of: Callable[..., Figure], name: str) -> None:
    figure = figure_of(name)
    figure.button("Show the whole")
    assert figure.view() == [0, 100]
    figure.button("Zoom in")
    assert figure.view() == [25, 75]
    figure.press("ArrowRight")
    assert figure.view() == [37.5, 87.5]
    figure.press("-")
    figure.press("0")
    assert figure.view() == [0, 100]


def test_the_wheel_belongs_to_the_page_until_a_chart_has_the_focus(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("samples")
    figure.page.mouse.move(*figure.place(60, 1.1e6))
    figure.page.mouse.wheel(0, -200)
    assert figure.view() == [0, 100]
    figure.handle.query_selector(".canvas").focus()
    figure.page.mouse.move(*figure.place(60, 1.1e6))
    figure.page.mouse.wheel(0, -200)
    start, end = figure.view()
    assert 0 < start < end < 100


@pytest.mark.parametrize(
    ("name", "ticks"), [("samples", ["40", "50", "60", "70", "80"]), ("roofline", ["1", "2", "5"])]
)
def test_ticks_of_a_part_are_round_in_the_unit_of_the_axis(
    figure_of: Callable[..., Figure], name: str, ticks: list[str]
) -> None:
    figure = figure_of(name)
    figure.button("Zoom in")
    assert [each for each in ticks if each not in figure.written()] == []


def test_the_first_view_may_end_early(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("memory")
    start, end = figure.view()
    assert (start, round(end)) == (0, 48)  # 1.5 s of 3.15 s
    figure.button("Show the whole")
    assert figure.view() == [0, 100]


def test_a_view_survives_selections_and_themes(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("timeline")
    figure.button("Zoom in")
    figure.page.click("#theme")
    figure.page.evaluate("onnxperf.select('node 25', document.querySelector('figure.chart'))")
    assert figure.view() == pytest.approx([25, 75], abs=0.1)


# ---------------------------------------------------------------- spans


def test_of_thousands_of_spans_only_those_are_drawn_that_can_be_seen(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("20,000 spans")
    count = "(figure) => figure.marks().length"
    whole = figure.handle.evaluate(count)
    assert whole < 4 * 1200
    assert figure.handle.evaluate("(figure) => figure.marks().reduce((sum, each) => sum + each.number, 0)") == 20_000
    for _ in range(11):
        figure.button("Zoom in")
    assert 0 < figure.handle.evaluate(count) < 1200
    assert figure.handle.evaluate("(figure) => figure.marks().every((each) => each.number === 1)")
    assert any(each.startswith("node ") for each in figure.written())


def test_a_click_enlarges_a_frame_and_the_whole_comes_back(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("flame")
    spans = picture_of("flame")
    place = next(at for at, row in enumerate(spans.lane) if row == 3)
    figure.click(spans.starts[place] + spans.widths[place] / 2, 3)
    zoom = figure.option("dataZoom[0]")
    assert [zoom["startValue"], zoom["endValue"]] == pytest.approx(
        [spans.starts[place], spans.starts[place] + spans.widths[place]]
    )
    assert figure.page.evaluate("onnxperf.selected") == spans.items[spans.item[place]].keys[0]
    figure.press("0")
    assert figure.view() == [0, 100]


def test_a_timeline_only_selects(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("timeline")
    figure.click(1200.0, 1)
    assert figure.view() == [0, 100]


# ---------------------------------------------------------------- select boxes


def test_a_select_box_chooses_the_picture_its_height_and_the_rows(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("matrices")
    layers: list[Layer] = list(CHARTS["matrices"]()[0].layers)
    boxes = figure.handle.query_selector_all("select")
    for layer in layers:
        for box, choice in zip(boxes, layer.only.values(), strict=True):
            box.select_option(choice)
        figure.settle()
        assert len(figure.option("series[0].data")) == len(layer.picture.cells)  # type: ignore[attr-defined]
        assert figure.handle.query_selector("canvas").bounding_box()["height"] >= layer.picture.height
        assert len(figure.handle.query_selector_all("tbody tr")) == 1


def test_a_choice_that_goes_with_no_other_changes_the_others(figure_of: Callable[..., Figure]) -> None:
    figure = figure_of("matrices")
    model, rival = figure.handle.query_selector_all("select")
    assert [each.input_value() for each in (model, rival)] == ["small.onnx", ""]
    model.select_option("large.onnx")
    assert rival.input_value() == "run-c"
    assert len(figure.option("series[0].data")) == 40


# ---------------------------------------------------------------- what painters share

ENDS = [(0.0, 7.3), (-12.5, 4.0), (3.1e5, 9.9e8), (0.004, 0.0123), (99.0, 101.0), (1e-9, 3e7), (1.0, 1.9), (2.0, 31.0)]


def test_a_browser_makes_the_ticks_that_python_makes(all_drawn: Callable[[str], Figure]) -> None:
    page = all_drawn("bars").page
    made = "([low, high, is_log, scale]) => onnxperf.roundTicks({ low, high, is_log, scale }, 8)"
    for low, high in ENDS:
        for scale in (1.0, 1e3):
            expected = [(False, linear_ticks(low, high, scale))]
            expected += [(True, log_ticks(low, high, scale))] if low > 0 else []
            for is_log, ticks in expected:
                found = page.evaluate(made, [low, high, is_log, scale])
                assert [words for _, words in found] == [words for _, words in ticks], (low, high, scale, is_log)
                assert [at for at, _ in found] == pytest.approx([at for at, _ in ticks])


def test_words_on_colors_have_contrast(all_drawn: Callable[[str], Figure]) -> None:
    page = all_drawn("bars").page
    inks = "([color, back, share]) => [onnxperf.mixed(color, back, share)].flatMap((at) => [at, onnxperf.ink(at)])"
    for palette, back in ((LIGHT, "#ffffff"), (DARK, "#14181c")):
        for color in palette:
            for share in (0.0, 0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 1.0):
                assert contrast(*page.evaluate(inks, [color, back, share])) >= 4.5


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_totals_stay_below_sorted_rows(browser: Any, tmp_path: Path) -> None:
    from onnxperf.render.kit.page import Section
    from onnxperf.render.kit.table import Footer
    from onnxperf.render.web.document import report_html
    from onnxperf.render.web.story import Story
    from tests.render.web.painted import nodes_table

    table = nodes_table(NODES)._replace(footers=[Footer({"": "total", "time_ns": 5e6})])
    path = tmp_path / "totals.html"
    path.write_text(report_html([Story("test", "m", [], [], [], [Section("Nodes", [table])])]))
    with opened_page(browser, path) as opened:
        opened.page.locator("th button").nth(1).click()
        assert opened.page.locator("tbody td").first.inner_text() == "node 10"
        assert opened.page.locator("tfoot td").first.inner_text() == "total"
        opened.page.fill("input[type=search]", "node 3")
        assert not opened.page.locator("tfoot").is_visible()
        assert opened.complaints == []
