"""The pages in a real browser: search, filter, compare, report, history, by mouse and by keyboard alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.depth import some
from tests.render.web.browser import BLANK, CHROMIUM, FAINT, draw_all, opened_browser
from tests.serve.conftest import TOKEN, fill_with_examples
from tests.serve.serving import Serving, serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
NARROW = 390


class Visit(NamedTuple):
    """A page of the server, and what it did that it should not."""

    page: Any
    """Playwright's page."""
    complaints: list[str]
    """Errors and warnings in the console, among them violations of the policy."""
    requests: list[str]
    """What went to another address."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[str]]:
    """A store, and the ids of its runs: two of one model, one of hostile names, a check."""
    where = str(tmp_path_factory.mktemp("served") / "runs.sqlite")
    return where, fill_with_examples(where)


@pytest.fixture(scope="module")
def server(runs: tuple[str, list[str]]) -> Iterator[Serving]:
    with serving("--store", runs[0]) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with opened_browser() as found:
        yield found


@contextmanager
def visit(browser: Any, url: str, width: int = 1200, dark: bool = False) -> Iterator[Visit]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", timezone_id="Asia/Tokyo"
    )
    page = context.new_page()
    visited = Visit(page, [], [])
    page.on("console", lambda said: visited.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: visited.complaints.append(str(error)))
    start = "/".join(url.split("/")[:3])
    page.on(
        "request", lambda request: visited.requests.append(request.url) if not request.url.startswith(start) else None
    )
    try:
        page.goto(url)
        ready(page)
        yield visited
    finally:
        context.close()


def ready(page: Any) -> None:
    page.wait_for_selector("html[data-ready]", state="attached")


def listed(page: Any) -> list[str]:
    ready(page)
    found: list[str] = page.locator(".runs .id a").all_inner_texts()
    return found


def test_search_and_filters_narrow_the_list(browser: Any, server: Serving, runs: tuple[str, list[str]]) -> None:
    before, after, hostile, check = runs[1]
    with visit(browser, f"{server.url}runs") as (page, complaints, requests):
        assert listed(page) == [check, hostile, after, before]
        page.fill("input[name=q]", "resnet")
        page.press("input[name=q]", "Enter")
        page.wait_for_url("**/runs?q=resnet")
        assert listed(page) == [after, before]
        page.click(".commit >> text=abc123")
        page.wait_for_url("**/runs?tag=commit%3Dabc123")
        assert listed(page) == [before]
        page.click("text=Clear")
        page.wait_for_url(f"{server.url}runs")
        page.select_option("select[name=kind]", "check")
        page.wait_for_url("**/runs?kind=check")
        assert listed(page) == [check]
        page.go_back()
        assert len(listed(page)) == 4
        assert (complaints, requests) == ([], [])


def test_two_picked_runs_are_compared(browser: Any, server: Serving, runs: tuple[str, list[str]]) -> None:
    before, after, *_ = runs[1]
    with visit(browser, f"{server.url}runs") as (page, complaints, _):
        assert page.is_disabled("#compare")
        page.check(f"input[value={before}]")
        page.check(f"input[value={after}]")
        assert page.is_disabled(f"input[value={runs[1][3]}]")
        page.click("#compare")
        page.wait_for_url(f"**/compare?first={before}&second={after}")
        ready(page)
        assert page.inner_text("h1").startswith(f"resnet.onnx: run {after}")
        draw_all(page)
        assert not any(page.evaluate(BLANK, figure) for figure in page.query_selector_all("figure.chart"))
        assert page.locator("text=Markdown to copy").count()
        page.click("nav.site >> text=Runs")
        assert len(listed(page)) == 4
        assert complaints == []


def test_a_report_draws_its_charts_under_the_policy_of_the_server(
    browser: Any, server: Serving, runs: tuple[str, list[str]]
) -> None:
    for run in runs[1]:
        with visit(browser, f"{server.url}runs/{run}") as (page, complaints, requests):
            draw_all(page)
            figures = page.query_selector_all("figure.chart")
            assert bool(figures) == (run != runs[1][3])
            assert not any(page.evaluate(BLANK, figure) for figure in figures)
            assert page.evaluate("window.broken") is None
            assert (complaints, requests) == ([], [])


def test_a_point_of_a_history_opens_its_run_by_mouse_and_by_keyboard(
    browser: Any, server: Serving, runs: tuple[str, list[str]]
) -> None:
    before, after, *_ = runs[1]
    with visit(browser, f"{server.url}runs/{before}") as (page, complaints, requests):
        page.click("nav.site >> text=History")
        page.wait_for_url("**/history?model=resnet.onnx")
        ready(page)
        page.click(f".track >> nth=0 >> a[href='/runs/{before}'] circle")
        page.wait_for_url(f"**/runs/{before}")
        page.go_back()
        ready(page)
        page.locator(".track >> nth=1 >> a[tabindex='0']").focus()
        for key, run in (("ArrowLeft", before), ("ArrowLeft", before), ("ArrowRight", after), ("ArrowLeft", before)):
            page.keyboard.press(key)
            assert page.evaluate("document.activeElement.getAttribute('href')") == f"/runs/{run}"
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/runs/{before}")
        page.go_back()
        ready(page)
        page.click(".ways >> text=by commit")
        page.wait_for_url("**/history?model=resnet.onnx&group_by=commit")
        ready(page)
        page.click("nav >> text=History")
        page.wait_for_url("**/history")
        assert page.locator(".models .id").count() == 2
        assert (complaints, requests) == ([], [])


def test_the_keyboard_alone_finds_picks_compares_and_opens(
    browser: Any, server: Serving, runs: tuple[str, list[str]]
) -> None:
    before, after, hostile, check = runs[1]
    with visit(browser, f"{server.url}runs") as (page, complaints, _):
        press = page.keyboard.press

        def focused() -> str:
            text: str = page.evaluate("document.activeElement.textContent")
            return text

        press("/")
        assert page.evaluate("document.activeElement.name") == "q"
        page.keyboard.type("jkx/resnet"[4:])
        press("Enter")
        page.wait_for_url("**/runs?q=resnet")
        ready(page)
        for key, name in (("j", after), ("j", before), ("j", before), ("k", after), ("ArrowDown", before)):
            press(key)
            assert focused() == name
        press("x")
        press("ArrowUp")
        press("x")
        press("c")
        page.wait_for_url("**/compare?first=*")
        page.go_back()
        page.go_back()
        assert listed(page) == [check, hostile, after, before]
        press("j")
        press("Enter")
        page.wait_for_url(f"**/runs/{check}")
        assert complaints == []


@pytest.mark.parametrize("path", ["", "runs"])
def test_everything_is_reached_by_tab_in_the_order_of_the_page(browser: Any, server: Serving, path: str) -> None:
    with visit(browser, f"{server.url}{path}") as (page, _, _):
        inside = "(each) => !each.disabled && each.checkVisibility() && each.tabIndex >= 0"
        wanted = page.evaluate(
            f"Array.from(document.querySelectorAll('a, button, input, select')).filter({inside}).length"
        )
        seen = []
        for _ in range(wanted):
            page.keyboard.press("Tab")
            seen.append(
                page.evaluate(
                    "Array.from(document.querySelectorAll('a, button, input, select')).indexOf(document.activeElement)"
                )
            )
        assert seen == sorted(set(seen))
        assert len(seen) == wanted


def test_times_of_day_are_those_of_the_reader(browser: Any, server: Serving) -> None:
    with visit(browser, server.url) as (page, _, _):
        time = page.locator("time").first
        shown, meant = time.inner_text(), time.get_attribute("datetime")
        local = page.evaluate("(when) => new Date(when).toLocaleString('sv-SE').slice(0, 16)", meant)
        assert shown == local
        assert time.get_attribute("title").endswith(" UTC")


PAGES = [
    *("", "?branch=none", "runs", "runs?q=nothing-like-it", "compare", "history", "history?model=resnet.onnx", "api"),
    *("runs/last", "runs/zzzzzz"),
]


@pytest.mark.parametrize(
    ("width", "dark"), some([(NARROW, True), (1200, True), (NARROW, False), (1200, False)], every=4)
)
def test_nothing_is_cut_off_or_faint(browser: Any, server: Serving, width: int, dark: bool) -> None:
    for path in PAGES:
        with visit(browser, f"{server.url}{path}", width, dark) as (page, _, requests):
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert page.evaluate(FAINT) == [], path
            assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
            assert requests == []


KEY_COLUMNS = {
    "": (".now", ["model and case", "time now", "change", "since", "newest runs", "last run"]),
    "runs": (".runs", ["run", "when ↓", "kind", "model", "time", "speedup", "verdict", "status", "machine", "commit"]),
}


@pytest.mark.parametrize("path", KEY_COLUMNS)
@pytest.mark.parametrize("width", [1024, 1440])
def test_key_columns_are_visible_without_scrolling(browser: Any, server: Serving, path: str, width: int) -> None:
    table, headings = KEY_COLUMNS[path]
    inside = f"""(words) => Array.from(document.querySelectorAll("{table} th")).filter((each) => {{
      const {{ left, right, width }} = each.getBoundingClientRect();
      return width > 1 && left >= 0 && right <= {width} && !each.querySelector(".hidden");
    }}).map((each) => each.innerText)"""
    with visit(browser, f"{server.url}{path}", width) as (page, _, _):
        shown = [each.removesuffix(" ↓") for each in page.evaluate(inside)]
        assert [each for each in headings if each.removesuffix(" ↓") not in shown] == []


def test_on_a_phone_the_way_to_all_pages_and_what_matters_of_a_model_is_visible(browser: Any, server: Serving) -> None:
    seen = f"""(each) => {{
      const {{ left, right, width }} = each.getBoundingClientRect();
      return width > 0 && left >= 0 && right <= {NARROW};
    }}"""
    with visit(browser, server.url, NARROW) as (page, _, _):
        for wanted in ("header nav a", ".now tr:nth-child(1) :is(.id, .time, .change, .graph, .last)"):
            assert all(each.evaluate(seen) for each in page.query_selector_all(wanted)), wanted
        assert len(page.query_selector_all("header nav a")) == 5


def test_the_rows_of_the_overview_are_reached_by_keyboard_alone(browser: Any, server: Serving) -> None:
    with visit(browser, server.url) as (page, complaints, _):
        page.keyboard.press("j")
        first = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("j")
        page.keyboard.press("k")
        assert page.evaluate("document.activeElement.textContent") == first
        page.keyboard.press("Enter")
        page.wait_for_url("**/history?model=*")
        assert complaints == []


def test_a_filter_applies_at_once_and_stays_in_the_address(browser: Any, server: Serving) -> None:
    with visit(browser, server.url) as (page, complaints, _):
        page.select_option("select[name=branch]", "main")
        page.wait_for_url("**/?branch=main")
        ready(page)
        assert page.locator(".now .id").count() == 1
        page.reload()
        ready(page)
        assert page.input_value("select[name=branch]") == "main"
        page.click("text=Clear")
        page.wait_for_url(server.url)
        assert complaints == []


def test_the_chart_library_is_fetched_once_for_many_reports(
    browser: Any, server: Serving, runs: tuple[str, list[str]]
) -> None:
    context = browser.new_context()
    try:
        page = context.new_page()
        fetched: list[Any] = []
        page.on("response", lambda answer: fetched.append(answer) if "/static/" in answer.url else None)
        for run in (*runs[1][:2], *runs[1][:2]):
            page.goto(f"{server.url}runs/{run}")
            ready(page)
        transferred = page.evaluate(
            "performance.getEntriesByType('resource').filter((each) => each.name.includes('/static/'))[0].transferSize"
        )
        assert len({each.url for each in fetched}) == 1
        assert transferred == 0
    finally:
        context.close()


def test_a_theme_that_was_chosen_stays_on_all_pages(browser: Any, server: Serving) -> None:
    with visit(browser, server.url) as (page, _, _):
        page.click("#theme")
        page.click(".now .id a >> nth=0")
        ready(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        page.click("a.brand")
        ready(page)
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_pages_need_no_script(browser: Any, server: Serving, runs: tuple[str, list[str]]) -> None:
    before, after, *_ = runs[1]
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(f"{server.url}runs")
        page.fill("input[name=q]", "resnet")
        page.click("#search button")
        page.check(f"input[value={before}]")
        page.check(f"input[value={after}]")
        page.click("#compare")
        assert page.inner_text("h1").startswith(f"resnet.onnx: run {after}")
    finally:
        context.close()


def test_a_token_is_typed_once_and_links_of_other_sites_work(
    browser: Any, runs: tuple[str, list[str]], tmp_path: Path
) -> None:
    with serving("--store", runs[0], ONNXPERF_TOKEN=TOKEN) as server:
        context = browser.new_context()
        try:
            page = context.new_page()
            page.goto(f"{server.url}runs/last")
            page.fill("input[name=token]", TOKEN)
            page.click("text=Enter")
            page.wait_for_selector("article")
            assert page.url == f"{server.url}runs/{runs[1][3]}"
            assert TOKEN not in json.dumps(context.cookies())
            elsewhere = tmp_path / "elsewhere.html"
            elsewhere.write_text(f'<a href="{server.url}">the runs</a>')
            page.goto(elsewhere.as_uri())
            page.click("a")
            page.wait_for_selector(".now")
        finally:
            context.close()
