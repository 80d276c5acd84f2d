"""Tables of a page in a real browser: graphics in rows, the columns that matter, one selection, and the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnxperf.render.kit.column import NAME, NS, Column, bar_column
from onnxperf.render.kit.page import Section
from onnxperf.render.kit.table import Table
from onnxperf.render.web.document import BRIEF, report_html
from onnxperf.render.web.story import Story
from tests.render.web.browser import CHROMIUM, opened_page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
PageOf = Callable[[str], Path]
ROWS = [(f"node {number}", 1e6 * (number + 1)) for number in range(30)]


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A page of one table with thirty rows that stand for nodes."""
    columns: list[Column[tuple[str, float]]] = [
        Column("name", "name", lambda row: row[0], NAME),
        Column("time_ns", "time", lambda row: row[1], NS),
        *(Column[tuple[str, float]](f"more_{n}", f"more {n}", lambda row: row[1], NS, 100 + n) for n in range(8)),
        bar_column(lambda row: row[1], ROWS),
    ]
    table = Table(columns, ROWS, "Nodes", link=lambda row: row[0])
    path = tmp_path / "nodes.html"
    path.write_text(report_html([Story("profile", "m", [], [], [], [Section("Nodes", [table])])]))
    return path


def selected(page: Any) -> list[str]:
    """The rows that are lit."""
    found: list[str] = page.evaluate("[...document.querySelectorAll('tr.selected')].map((row) => row.dataset.key)")
    return found


@pytest.mark.parametrize("kind", ["bench", "sweep", "memory", "stack"])
def test_key_columns_are_seen_without_scrolling_at_1024_pixels(browser: Any, page_of: PageOf, kind: str) -> None:
    with opened_page(browser, page_of(kind), width=1024) as opened:
        too_wide = opened.page.evaluate(
            "[...document.querySelectorAll('.scroll')]"
            ".filter((each) => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)"
            ".map((each) => each.getAttribute('aria-label'))"
        )
        assert too_wide == []


def test_a_table_shows_six_columns_and_a_button_shows_all(browser: Any, nodes: Path) -> None:
    with opened_page(browser, nodes) as opened:
        seen = "[...document.querySelectorAll('th')].filter((head) => head.checkVisibility()).length"
        assert opened.page.evaluate(seen) == BRIEF
        opened.page.click("button.all")
        assert opened.page.evaluate(seen) == 11
        opened.page.click("button.all")
        assert opened.page.evaluate(seen) == BRIEF


def test_graphics_are_drawn_in_rows_of_both_kinds(browser: Any, nodes: Path) -> None:
    with opened_page(browser, nodes) as opened:
        opened.page.click("button.more")
        rectangles = (
            "[...document.querySelectorAll('svg.marks rect')].map((each) => Number(each.getAttribute('width')))"
        )
        widths = opened.page.evaluate(rectangles)
        assert len(widths) == len(ROWS)
        assert widths == sorted(widths)


def test_a_selected_row_shows_all_its_values_and_survives_a_reload(browser: Any, nodes: Path) -> None:
    with opened_page(browser, nodes) as opened:
        page = opened.page
        page.locator("tr[data-key='node 3'] button").click()
        assert page.url.endswith("#node=node+3")
        page.reload()
        page.wait_for_selector("html[data-ready]", state="attached")
        assert selected(page) == ["node 3"]
        assert page.locator(".drawer dt").all_inner_texts() == ["time", *(f"more {n}" for n in range(8))]
        page.keyboard.press("Escape")
        assert selected(page) == []
        assert not page.locator(".drawer").is_visible()
        assert "#" not in page.url


def test_the_keyboard_alone_reaches_every_row(browser: Any, nodes: Path) -> None:
    with opened_page(browser, nodes) as opened:
        page = opened.page
        page.locator(".scroll").focus()
        reached = []
        for _ in ROWS:
            page.keyboard.press("ArrowDown")
            reached.append(page.evaluate("document.activeElement.dataset.key"))
        assert reached == [name for name, _ in ROWS]
        page.keyboard.press("Enter")
        assert selected(page) == ["node 29"]
        page.keyboard.press("Home")
        page.keyboard.press("Enter")
        assert selected(page) == ["node 0"]


def test_a_slash_goes_to_the_search(browser: Any, nodes: Path) -> None:
    with opened_page(browser, nodes) as opened:
        opened.page.keyboard.press("/")
        opened.page.keyboard.type("30.0 ms")
        assert opened.page.locator("tbody td:first-child").all_inner_texts() == ["node 29"]


def test_a_race_opens_the_blocks_of_a_selected_subject(browser: Any, page_of: PageOf) -> None:
    with opened_page(browser, page_of("bench")) as opened:
        page = opened.page
        assert not page.locator("details.folded").first.evaluate("(each) => each.open")
        page.locator("tr[data-key='subject run-c'] button").click()
        assert page.url.endswith("#subject=run-c")
        assert page.locator("details.folded").first.evaluate("(each) => each.open")
        assert page.locator(".drawer dt").all_inner_texts()[:2] == ["time", "min"]
        assert opened.complaints == []


def test_a_cell_of_the_map_chooses_the_case(browser: Any, page_of: PageOf) -> None:
    with opened_page(browser, page_of("sweep")) as opened:
        page = opened.page
        page.evaluate("onnxperf.select('case rows=4')")
        page.locator("div.table:has(h3:text-is('Subjects of a case')) select").select_option("case rows=16")
        table = page.locator("div.table:has(h3:text-is('Subjects of a case'))")
        assert set(table.locator("tbody tr td:first-child").all_inner_texts()) == {"rows=16"}
        assert "case=rows%3D16" in page.url
        assert opened.complaints == []
