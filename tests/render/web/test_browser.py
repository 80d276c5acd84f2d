"""Real reports in a real browser: no complaint, no request, nothing cut off, and everything works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.depth import all_or, some
from tests.render.web.browser import CHROMIUM, assert_drawn, assert_readable, draw_all, opened_page
from tests.render.web.pages import KINDS, SEARCHES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
QUICK = [kind for kind in KINDS if kind not in SEARCHES]


@pytest.mark.parametrize("kind", all_or(["bench", "sweep", "profile", "memory", "diff"], QUICK))
def test_a_page_is_drawn_without_complaints_requests_or_tricks_of_names(
    browser: Any, page_of: Callable[[str], Path], kind: str
) -> None:
    assert_drawn(browser, page_of(kind))


@pytest.mark.parametrize(("kind", "dark"), some([(kind, dark) for kind in QUICK for dark in (False, True)], every=7))
def test_texts_are_readable_and_nothing_is_cut_off_on_a_phone(
    browser: Any, page_of: Callable[[str], Path], kind: str, dark: bool
) -> None:
    assert_readable(browser, page_of(kind), dark)


def test_the_theme_is_changed_by_its_button(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("bench")) as opened:
        draw_all(opened.page)
        opened.page.click("#theme")
        assert opened.page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert opened.page.inner_text("#theme") == "Light"
        assert opened.complaints == []


def test_a_table_is_sorted_by_numbers_and_searched(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("bench")) as opened:
        table = opened.page.locator("div.table:has(h3:text-is('Speedups'))")
        table.locator("button.all").click()
        heads = [each.inner_text().strip() for each in table.locator("th").all()]
        place = heads.index("p50")

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
    from onnxperf.render.kit.page import Section
    from onnxperf.render.web.document import report_html
    from onnxperf.render.web.story import Story
    from tests.render.web.test_document import table

    rows = [(f"node {number}", number * 1e6) for number in range(1000)]
    path = tmp_path / "long.html"
    path.write_text(report_html([Story("view", "m", [], [], [], [Section("Details", [table(*rows)])])]))
    with opened_page(browser, path) as opened:
        page = opened.page
        assert page.locator("tbody tr").count() == 12
        page.click("button.more")
        assert page.locator("tbody tr").count() == 312
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


@pytest.mark.parametrize(("kind", "title"), [("profile", "What ran when")])
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
        if kind == "profile":
            page.get_by_role("tab", name="Nodes", exact=True).click()
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
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        page.locator("tr[data-key='middle'] button").first.dispatch_event("click")
        offer.click()
        page.wait_for_function("document.querySelector('.window').getBoundingClientRect().top < innerHeight")
        offer.wait_for(state="hidden")
        assert opened.complaints == []


def test_the_search_box_finds_a_node_and_says_where_there_is_none(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("view")) as opened:
        page = opened.page
        search = page.locator("input[aria-label='Find a node']")
        whole = page.locator(".window > svg:not(.minimap)").get_attribute("viewBox")
        search.fill("MIDDLE")
        search.press("Enter")
        assert boxes(page) == ["middle"]
        search.fill("nowhere")
        search.press("Enter")
        assert search.evaluate("(box) => box.validationMessage") == "No node has this in its name."
        page.locator("button[aria-label='Show the whole graph']").click()
        assert page.locator(".window > svg:not(.minimap)").get_attribute("viewBox") == whole
        page.locator(".window").press("+")
        assert page.locator(".window > svg:not(.minimap)").get_attribute("viewBox") != whole
        assert opened.complaints == []


def test_a_select_box_changes_the_chart_and_its_numbers(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("sweep")) as opened:
        draw_all(opened.page)
        figure = opened.page.locator("figure.chart:has(.tools select)").first
        figure.locator("details").evaluate("(each) => { each.open = true; }")
        before = figure.evaluate("(each) => JSON.stringify(each.chart.getOption().series.map((one) => one.data))")
        rows = figure.locator("tbody tr").count()
        box = figure.locator(".tools select").last
        box.select_option(index=box.locator("option").count() - 1)
        after = figure.evaluate("(each) => JSON.stringify(each.chart.getOption().series.map((one) => one.data))")
        assert after != before
        assert 0 < figure.locator("tbody tr").count() <= rows
        assert opened.complaints == []
