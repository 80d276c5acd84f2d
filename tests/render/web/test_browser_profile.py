"""A profile in a real browser: a bar that filters, linked panes, one axis of time, and a drawing with a map."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.graphs.modules import module_times
from onnxperf.records.profile import Timeline
from onnxperf.results.profile import ProfileResult
from onnxperf.results.view import ViewResult
from tests.render.graph import views
from tests.render.profile import examples as made
from tests.render.web.browser import CHROMIUM, Opened, draw_all, opened_page

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
OPERATORS = ("Conv", "Relu", "Add", "Relu", "MatMul") * 8
FIRST = "section:has(.shares)"


@pytest.fixture
def profiled(tmp_path: Path) -> Path:
    """The page of a chain of nodes in two modules, with memory."""
    view = views.chain_view(*OPERATORS)
    nodes = tuple(
        made.node(each.label, 100 + 50 * (place % 3), op_name=each.op_type, module=f"block.{place % 2}")
        for place, each in enumerate(view.graph.nodes)
    )
    number = len(nodes)
    timeline = Timeline(
        iteration=2,
        nodes=tuple(range(number)),
        start_us=tuple(range(0, 100 * number, 100)),
        duration_us=(90,) * number,
        threads=(0,) * number,
        in_use_bytes=tuple(1_000_000 + 1000 * place for place in range(number)),
        base_bytes=500_000,
    )
    first = replace(timeline, iteration=0, duration_us=(50,) * number)
    profile = made.profile(*nodes, sources=(), modules=module_times(nodes), timeline=timeline, other_timelines=(first,))
    path = tmp_path / "profile.html"
    path.write_text(ProfileResult(profile, view=lambda: view).to_html())
    return path


def shown(opened: Opened, heading: str = "node") -> list[str]:
    """Keys of the rows of the table in the panes that is shown."""
    found: list[str] = opened.page.evaluate(
        """() => [...document.querySelectorAll('.tabs > div:not([hidden]) tbody tr')].map((row) => row.dataset.key)"""
    )
    assert heading in opened.page.locator(".tabs > div:not([hidden]) th").first.inner_text()
    return found


def lit(opened: Opened) -> set[str]:
    found = opened.page.evaluate("[...document.querySelectorAll('.window .selected')].map((box) => box.dataset.key)")
    return set(found)


def spans(opened: Opened) -> int:
    """Spans of the timeline that are lit."""
    draw_all(opened.page)
    script = "(figure) => figure.marks().filter((mark) => mark.lit).length"
    found: int = opened.page.locator("figure.chart:has(h3:text-is('What ran when'))").evaluate(script)
    return found


def test_a_part_of_the_bar_leaves_only_its_nodes_everywhere(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        part = opened.page.locator(".shares [data-key='operator Relu']")
        part.click()
        keys = shown(opened)
        assert len(keys) == OPERATORS.count("Relu") == len(lit(opened)) == spans(opened)
        assert set(keys) == lit(opened)
        assert part.get_attribute("aria-pressed") == "true"
        assert opened.page.locator(".chip:visible").inner_text() == "only Relu ×"
        opened.page.locator(".chip:visible").click()
        assert len(shown(opened)) == len(OPERATORS)
        assert lit(opened) == set()
        assert opened.complaints == []


def test_a_row_of_a_module_leaves_its_nodes_and_a_node_keeps_the_filter(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        page = opened.page
        page.get_by_role("tab", name="Modules").click()
        page.locator("tr[data-key='module block.0'] button").click()
        assert "module block.0" in shown(opened, "module")
        page.get_by_role("tab", name="Nodes", exact=True).click()
        keys = shown(opened)
        assert len(keys) == len(OPERATORS) / 2
        page.locator(f"{FIRST} tbody tr[data-key='{keys[1]}'] button").click()
        assert shown(opened) == keys
        assert lit(opened) == {keys[1]}
        page.keyboard.press("Escape")
        assert len(shown(opened)) == len(OPERATORS)
        assert opened.complaints == []


def test_a_selection_survives_a_reload(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        opened.page.locator(".shares [data-key='operator Add']").click()
        assert "operator=Add" in opened.page.url
        opened.page.reload()
        opened.page.wait_for_selector("html[data-ready]", state="attached")
        assert len(lit(opened)) == OPERATORS.count("Add")
        opened.page.get_by_role("tab", name="Nodes", exact=True).click()
        assert len(shown(opened)) == OPERATORS.count("Add")


def test_the_parts_of_the_bar_are_as_wide_as_their_shares(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        widths, shares = (
            opened.page.evaluate(f"[...document.querySelectorAll('.shares > *')].map((part) => {what})")
            for what in ("part.getBoundingClientRect().width", "Number(part.dataset.share)")
        )
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        assert [width / sum(widths) for width in widths] == pytest.approx(shares, abs=0.01)


def test_nodes_and_memory_have_one_axis_and_zoom_together(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        draw_all(opened.page)
        figure = opened.page.locator("figure.chart:has(h3:text-is('What ran when'))")
        script = """(figure) => [0, 1].map((at) => {
          const axis = figure.chart.getModel().getComponent("xAxis", at);
          const { x, width } = axis.axis.grid.getRect();
          return [x, width, ...axis.axis.scale.getExtent()];
        })"""
        nodes, memory = figure.evaluate(script)
        assert nodes == memory
        figure.locator("button[aria-label='Zoom in']").click()
        opened.page.wait_for_timeout(100)
        nearer, memory = figure.evaluate(script)
        assert nearer == memory != nodes
        assert opened.complaints == []


def test_a_select_box_shows_another_inference_and_keeps_the_selection(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        opened.page.locator(".shares [data-key='operator Relu']").click()
        draw_all(opened.page)
        figure = opened.page.locator("figure.chart:has(h3:text-is('What ran when'))")
        ends = "(figure) => figure.marks().map((mark) => mark.value[1] - mark.value[0])"
        assert set(figure.evaluate(ends)) == {90}
        figure.locator("select").select_option(index=1)
        assert set(figure.evaluate(ends)) == {50}
        assert spans(opened) == OPERATORS.count("Relu")
        assert opened.complaints == []


@pytest.mark.parametrize("width", [1024, 1440])
def test_bar_table_and_graph_stand_side_by_side_on_the_first_screen(browser: Any, profiled: Path, width: int) -> None:
    with opened_page(browser, profiled, width=width) as opened:
        page = opened.page
        tops = [page.locator(each).first.bounding_box() for each in (".shares", ".tabs table", ".window")]
        assert all(box["y"] < 700 for box in tops)
        assert tops[1]["x"] + 100 < tops[2]["x"]
        frame = page.locator(".tabs .scroll").first
        assert frame.evaluate("(each) => each.scrollWidth <= each.clientWidth + 1")
        page.get_by_role("tab", name="Nodes", exact=True).click()
        assert page.locator(".tabs > div:not([hidden]) .scroll").evaluate(
            "(each) => each.scrollWidth <= each.clientWidth + 1"
        )


READABLE = """() => {
  const light = (color) => {
    const scale = color.startsWith("color(srgb") ? 1 : 255;  // as mixed colors are written
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / scale);
    const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll(".window [data-key]")].flatMap((box) => {
    const fill = getComputedStyle(box.querySelector("rect")).fill;
    return [...box.querySelectorAll(":scope > text")].map((text) => {
      const [one, other] = [light(getComputedStyle(text).fill), light(fill)];
      return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    });
  });
}"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", ["profile", "view"])
def test_the_graph_is_readable_on_light_and_dark_pages(
    browser: Any, profiled: Path, tmp_path: Path, kind: str, dark: bool
) -> None:
    path = profiled
    if kind == "view":
        path = tmp_path / "view.html"
        path.write_text(ViewResult(views.chain_view(*OPERATORS, "If", "Transpose", "Unknown")).to_html())
    with opened_page(browser, path, dark=dark) as opened:
        assert min(opened.page.evaluate(READABLE)) >= 4.5
        paper = opened.page.locator(".window svg > rect").first.evaluate("(each) => getComputedStyle(each).fill")
        assert paper == ("rgb(20, 24, 28)" if dark else "rgb(255, 255, 255)")


def test_a_map_shows_what_is_seen_and_moves_there(browser: Any, profiled: Path) -> None:
    with opened_page(browser, profiled) as opened:
        page = opened.page
        graph = page.locator(".window > svg").first
        before = graph.get_attribute("viewBox")
        chart = page.locator(".minimap")
        assert chart.locator("rect").count() == len(OPERATORS) + 1
        box = chart.bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
        after = graph.get_attribute("viewBox")
        assert after != before
        assert lit(opened) == set()
        seen = chart.locator(".seen")
        assert float(seen.get_attribute("y") or 0) > 0
        page.locator(".window").press("0")
        assert not chart.is_visible()
        assert opened.complaints == []


def test_a_diff_shows_the_nodes_of_an_operator(browser: Any, page_of: Callable[[str], Path]) -> None:
    with opened_page(browser, page_of("diff")) as opened:
        page = opened.page
        page.get_by_role("tab", name="Operators").click()
        page.locator("tr[data-key='operator Softmax'] button").click()
        page.get_by_role("tab", name="Executed nodes").click()
        assert page.locator(".chip:visible").inner_text() == "only Softmax ×"
        assert page.locator(".tabs > div:not([hidden]) tbody tr").count() == 1
        assert opened.complaints == []


def test_without_a_timeline_of_its_own_a_page_says_so(browser: Any, tmp_path: Path) -> None:
    profile = made.profile(made.node("a"), sources=())
    path = tmp_path / "stored.html"
    path.write_text(ProfileResult(replace(profile, timeline=None)).to_html())
    with opened_page(browser, path) as opened:
        assert "profile the model again" in opened.page.inner_text("main")
        assert opened.page.locator(".shares button").count() == 1
        assert opened.complaints == []
