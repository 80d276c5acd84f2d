"""Real reports of every kind in a real browser: no complaint, no request, nothing cut off, and everything works."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.results.base import Result
from onnxperf.results.bisect import BisectResult
from onnxperf.results.history import HistoryResult
from onnxperf.results.report import Report
from tests.render.history_examples import two_machines
from tests.render.web.browser import CHROMIUM, opened_browser, opened_page
from tests.render.web.test_finding_sections import BISECTION

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
HOSTILE = '<img src=x onerror="window.broken=1">\'</script><script>window.broken=1</script>\x1b[31m'


def network() -> onnx.ModelProto:
    """Two products with a hostile name each, which become one node each."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((32, 32), dtype=np.float32), f"W{n}") for n in range(2)]
    nodes = [
        helper.make_node("MatMul", ["X", "W0"], ["A"], name=f"first {HOSTILE}"),
        helper.make_node("Softmax", ["A"], ["B"], name="middle"),
        helper.make_node("MatMul", ["B", "W1"], ["Y"], name=f"last {HOSTILE}"),
    ]
    ends = [helper.make_tensor_value_info(name, 1, ["rows", 32]) for name in "XY"]
    graph = helper.make_graph(nodes, f"graph {HOSTILE}", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def allocate() -> int:
    return sum(range(1000))


@cache
def _model(folder: str) -> Path:
    path = Path(folder) / "m.onnx"
    onnx.save(network(), path)
    return path


KINDS: dict[str, Callable[[Path], Result[Any] | Report]] = {
    "bench": lambda m: onnxperf.bench(m, call="run,run-c,io-binding", dims={"rows": 4}, blocks=8),
    "sweep": lambda m: onnxperf.bench(m, call="run,run-c", dims={"rows": [1, 4, 16]}, blocks=6),
    "profile": lambda m: onnxperf.profile(m, dims={"rows": 4}, repeat=5, roofline=True),
    "diff": lambda m: onnxperf.diff(m, opt_level="disable,all", dims={"rows": 4}, repeat=5, race=False),
    "memory": lambda m: onnxperf.memory(m, dims={"rows": 4}, repeat=5),
    "stack": lambda m: onnxperf.stack(m, dims={"rows": 4}, calls=2000),
    "check": lambda m: onnxperf.check(m, runtime="ort,reference", dims={"rows": 4}),
    "optimize": lambda m: onnxperf.optimize(m, m.with_name("optimised.onnx")),
    "view": lambda m: onnxperf.view(m, profile=True, dims={"rows": 4}),
    "tune": lambda m: onnxperf.tune(m, dims={"rows": 4}, time=2.0, call="run"),
    "advise": lambda m: onnxperf.advise(m, dims={"rows": 4}, time=2.0),
    "quantize": lambda m: onnxperf.quantize(m, dims={"rows": 4}, time=4.0),
    "einsum": lambda _: onnxperf.optimize_einsum("ij,jk->ik", [(8, 8), (8, 8)], time=2.0),
    "profiles": lambda m: onnxperf.profile_variants(m, dims={"rows": 4}, repeat=5, threads=[1, 2]),
    "two graphs": onnxperf.diff_view,
    "doctor": lambda _: onnxperf.doctor(time=1.0),
    "lines": lambda _: onnxperf.memory_lines(allocate),
    "convert": lambda _: _converted(),
    "two runs": lambda m: onnxperf.report(_short_bench(m), _short_bench(m)),
    "gate": lambda m: onnxperf.gate(m, m, dims={"rows": [1, 4]}, time=1.0, max_memory=0.5),
    "history": lambda _: HistoryResult(two_machines()),
    "bisect": lambda _: BisectResult(BISECTION),  # a real one takes minutes
}
"""How a small result of each kind is measured."""


def _converted() -> Result[Any]:
    from sklearn.linear_model import LinearRegression

    rows = np.random.default_rng(0).random((20, 3))
    return onnxperf.convert(LinearRegression().fit(rows, rows.sum(axis=1)), rows.astype(np.float32))


def _short_bench(model: Path) -> Result[Any]:
    return onnxperf.bench(model, call="run,run-c", dims={"rows": 4}, blocks=6)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a kind, measured once."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in made:
            before = Path.cwd()
            os.chdir(folder)
            try:
                result = KINDS[kind](_model(str(folder)))
            finally:
                os.chdir(before)
            result.save(folder / f"{kind}.html")
            made[kind] = folder / f"{kind}.html"
        return made[kind]

    return page


def draw_all(page: Any) -> None:
    """Bring every chart into view, so that it is drawn."""
    for figure in page.query_selector_all("figure.chart"):
        figure.evaluate("(each) => { each.closest('details')?.setAttribute('open', ''); each.scrollIntoView(); }")
        page.wait_for_function("(each) => each.chart !== undefined", arg=figure)


BLANK = """(figure) => {
  const canvas = figure.querySelector("canvas");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data.every((value) => value === data[0]);
}"""
FAINT = """() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = parts(colour).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, script, .skip")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""
"""Texts that are hard to read: a contrast below 4.5 (WCAG AA)."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_drawn_without_complaints_requests_or_tricks_of_names(
    browser: Any, page_of: Callable[[str], Path], kind: str
) -> None:
    path = page_of(kind)
    assert path.stat().st_size < 8e6
    with opened_page(browser, path) as opened:
        draw_all(opened.page)
        blank = [figure.evaluate(BLANK) for figure in opened.page.query_selector_all("figure.chart")]
        assert not any(blank)
        assert opened.page.evaluate("window.broken") is None
        assert opened.page.query_selector("main img") is None
        assert (opened.complaints, opened.requests) == ([], [])


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_readable_and_nothing_is_cut_off_on_a_phone(
    browser: Any, page_of: Callable[[str], Path], kind: str, dark: bool
) -> None:
    with opened_page(browser, page_of(kind), width=390, dark=dark) as opened:
        draw_all(opened.page)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert opened.page.evaluate(FAINT) == []
        assert opened.page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")


def test_the_theme_is_changed_by_its_button(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("bench")) as opened:
        draw_all(opened.page)
        opened.page.click("#theme")
        assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert opened.page.inner_text("#theme") == "Light"
        assert opened.complaints == []


def test_a_table_is_sorted_by_numbers_and_searched(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("bench")) as opened:
        table = opened.page.locator("section:has(h2:text-is('Details')) div.table").first
        heads = [each.inner_text().strip() for each in table.locator("th").all()]
        place = heads.index("median")

        def values() -> list[float]:
            cells = table.locator(f"tbody tr td:nth-child({place + 1})").all()
            return [float(cell.get_attribute("data-value") or "nan") for cell in cells]

        measured = values()
        head = table.locator("th").nth(place)
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "descending"
        assert values() == sorted(measured, reverse=True)
        head.locator("button").press("Enter")
        assert values() == sorted(measured)
        head.locator("button").click()
        assert values() == measured


def test_long_tables_are_searched_as_a_whole_and_shown_in_steps(browser: Any, tmp_path: Path) -> None:
    from onnxperf.render.web.base import Section, Story
    from onnxperf.render.web.document import report_html
    from tests.render.web.test_document import table

    rows = [(f"node {number}", f"{number} ms") for number in range(1000)]
    path = tmp_path / "long.html"
    path.write_text(report_html([Story("view", "m", [], [], [], [Section("Details", [table(*rows)])])]))
    with opened_page(browser, path) as opened:
        page = opened.page
        assert page.locator("tbody tr").count() == 25
        page.click("button.more")
        assert page.locator("tbody tr").count() == 325
        page.fill("input[type=search]", "node 999")
        assert page.locator("tbody tr td:first-child").all_inner_texts() == ["node 999"]
        assert page.inner_text("[role=status]") == "1 of 1000 rows"
        page.fill("input[type=search]", "")
        page.locator("th button").nth(1).click()
        assert page.locator("tbody tr td:first-child").first.inner_text() == "node 999"
        assert opened.complaints == []


def test_printing_shows_every_chart_and_no_tools(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("sweep")) as opened:
        opened.page.emulate_media(media="print")
        opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        figures = opened.page.query_selector_all("figure.chart")
        assert all(figure.evaluate("(each) => each.chart !== undefined") for figure in figures)
        assert not opened.page.locator("header").is_visible()
        assert opened.complaints == []


def test_a_notebook_shows_the_page_in_its_frame(browser: Any, tmp_path: Path) -> None:
    from onnxperf.results.bench import BenchResult
    from tests.render import examples

    race = [examples.subject("run", 10.0, "baseline"), examples.subject("run-c", 8.0, "faster")]
    shown = BenchResult(examples.bench(examples.case(*race))).report()._repr_html_()
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><html data-ready><meta charset=utf-8>{shown}</html>")
    with opened_page(browser, path) as opened:
        frame = opened.page.frame_locator("iframe")
        frame.locator("html[data-ready]").wait_for(state="attached")
        frame.locator("nav a").last.click()
        assert frame.locator("h1").inner_text() == "linear.onnx"
        assert (opened.complaints, opened.requests) == ([], [])


# ---------------------------------------------------------------- what is clicked


def shown_part(page: Any, title: str) -> list[float]:
    """Where the zoom of a chart begins and ends, in percent."""
    found: list[float] = page.locator(f"figure.chart:has(h3:text-is('{title}'))").evaluate(
        "(figure) => { const [zoom] = figure.chart.getOption().dataZoom; return [zoom.start, zoom.end]; }"
    )
    return found


@pytest.mark.parametrize(("kind", "title"), [("profile", "What ran when"), ("bench", "Every block, by round")])
def test_a_chart_zooms_by_buttons_and_keys(browser: Any, page_of: Callable[[str], Path], kind: str, title: str) -> None:
    with opened_page(browser, page_of(kind)) as opened:
        draw_all(opened.page)
        figure = opened.page.locator(f"figure.chart:has(h3:text-is('{title}'))")
        assert shown_part(opened.page, title) == [0, 100]
        figure.locator("button[aria-label='Zoom in']").click()
        assert shown_part(opened.page, title) == [25, 75]
        figure.locator(".canvas").press("ArrowRight")
        assert shown_part(opened.page, title) == [37.5, 87.5]
        figure.locator(".canvas").press("0")
        assert shown_part(opened.page, title) == [0, 100]
        assert opened.complaints == []


def boxes(page: Any) -> list[str]:
    """Keys of the boxes of the graph that are lit."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.window .selected')].map((box) => box.dataset.key)"
    )
    return found


@pytest.mark.parametrize("kind", ["profile", "view"])
def test_a_row_lights_its_node_and_a_node_its_row(browser: Any, page_of: Callable[[str], Path], kind: str) -> None:
    with opened_page(browser, page_of(kind)) as opened:
        page = opened.page
        row = page.locator("tr[data-key='middle']").first
        row.locator("button").first.click()
        assert boxes(page) == ["middle"]
        first = page.locator(".window [data-key^='first']").first
        first.dispatch_event("click")
        assert boxes(page) == [first.get_attribute("data-key")]
        chosen = page.locator("tr.selected").first
        assert (chosen.get_attribute("data-key") or "").startswith("first <img")
        assert opened.complaints == []


def test_a_graph_that_is_lit_out_of_sight_is_a_click_away(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("profile")) as opened:
        page = opened.page
        offer = page.locator("button.offer")
        assert not offer.is_visible()
        page.evaluate("scrollTo(0, 0)")
        page.locator("tr[data-key='middle'] button").first.dispatch_event("click")
        offer.click()
        page.wait_for_function("document.querySelector('.window').getBoundingClientRect().top < innerHeight")
        offer.wait_for(state="hidden")
        assert opened.complaints == []


def test_the_search_box_finds_a_node_and_says_where_there_is_none(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("view")) as opened:
        page = opened.page
        search = page.locator("input[aria-label='Find a node']")
        whole = page.locator(".window svg").get_attribute("viewBox")
        search.fill("MIDDLE")
        search.press("Enter")
        assert boxes(page) == ["middle"]
        search.fill("nowhere")
        search.press("Enter")
        assert search.evaluate("(box) => box.validationMessage") == "No node has this in its name."
        page.locator("button[aria-label='Show the whole graph']").click()
        assert page.locator(".window svg").get_attribute("viewBox") == whole
        page.locator(".window").press("+")
        assert page.locator(".window svg").get_attribute("viewBox") != whole
        assert opened.complaints == []


def test_a_select_box_changes_the_chart_and_its_numbers(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("sweep")) as opened:
        draw_all(opened.page)
        figure = opened.page.locator("figure.chart:has(.tools select)").first
        figure.locator("details summary").click()
        before = figure.evaluate("(each) => JSON.stringify(each.chart.getOption().series.map((one) => one.data))")
        rows = figure.locator("tbody tr").count()
        box = figure.locator(".tools select").last
        box.select_option(index=box.locator("option").count() - 1)
        after = figure.evaluate("(each) => JSON.stringify(each.chart.getOption().series.map((one) => one.data))")
        assert after != before
        assert 0 < figure.locator("tbody tr").count() <= rows
        assert opened.complaints == []
