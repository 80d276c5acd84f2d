"""A drawing in a real browser: it starts readable, pans and zooms, and the page around it still scrolls."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onnxperf.records.view import GraphView, ViewGraph
from onnxperf.render.graph.script import NOTEBOOK_HEIGHT, SCRIPT
from onnxperf.render.graph.svg import graph_svg
from onnxperf.results.view import ViewResult
from tests.render.graph.views import chain_view, float_value, node

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PAGE_WIDTH, PAGE_HEIGHT = 1000, 800
CONTROL = 2
"""The key, as the browser's protocol numbers it."""
PATIENCE_S = 60
# The browser talks over the file descriptors 3 and 4 of its process.
LAUNCH = """
import os, sys

os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)

in_a_browser = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium")]


class Browser:
    """A page of a browser, with a mouse."""

    def __init__(self, folder: Path) -> None:
        assert CHROMIUM is not None
        their_input, self._to = os.pipe()
        self._from, their_output = os.pipe()
        size = f"--window-size={PAGE_WIDTH},{PAGE_HEIGHT}"
        given = [str(their_input), str(their_output), CHROMIUM, *FLAGS, size, f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCH, *given],
            pass_fds=(their_input, their_output),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_input)
        os.close(their_output)
        self._number, self._rest, self._session = 0, b"", ""

    def attach(self) -> None:
        """Wait for the browser and make a page."""
        target = self.call("Target.createTarget", url="about:blank")
        session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = session["sessionId"]
        self.call("Page.enable")

    def close(self) -> None:
        """End the browser and everything that it started."""
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """What the browser answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        answer: dict[str, Any] = self._until("id", self._number)["result"]
        return answer

    def open(self, page: Path) -> None:
        """Show a file."""
        self.call("Page.navigate", url=page.as_uri())
        self._until("method", "Page.loadEventFired")

    def ask(self, expression: str) -> Any:
        """The value of an expression of the page, or what a promise brings."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """Move the mouse, press it, turn its wheel."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Press and release the mouse."""
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=count)

    def wheel(self, by: float, modifiers: int = 0) -> None:
        """Turn the wheel above the drawing."""
        self.mouse("mouseWheel", 500, 300, deltaX=0, deltaY=by, modifiers=modifiers)

    def view_box(self) -> list[float]:
        """The part of the drawing that is seen: left, top, width, height."""
        return [float(each) for each in self.ask("document.querySelector('svg').getAttribute('viewBox')").split()]

    def _until(self, key: str, value: object) -> dict[str, Any]:
        while True:
            while b"\0" not in self._rest:
                assert select.select([self._from], [], [], PATIENCE_S)[0], "the browser is silent"
                self._rest += os.read(self._from, 1 << 16)
            text, _, self._rest = self._rest.partition(b"\0")
            message: dict[str, Any] = json.loads(text)
            assert "error" not in message, message
            if message.get(key) == value:
                return message


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    started = Browser(tmp_path_factory.mktemp("browser"))
    try:
        started.attach()
        yield started
    finally:
        started.close()


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    """A notebook, as it were: a tall drawing with text above and below."""
    view = chain_view(*["Conv", "Relu"] * 40)
    return shown(browser, tmp_path, view)


def shown(browser: Browser, folder: Path, view: GraphView) -> Browser:
    html = ViewResult(view, "svg")._repr_html_()
    path = folder / "page.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body style='margin:0'>{html}<p style='height:3000px'>end</p>",
        encoding="utf-8",
    )
    browser.open(path)
    return browser


def wide_view(columns: int = 40) -> GraphView:
    """One input on one side of a graph that is wider than a page."""
    last = columns - 1
    nodes = [node(i, "Concat", [f"a{i}", "x"] if i == last else [f"a{i}"], [f"b{i}"]) for i in range(columns)]
    inputs = [float_value("x"), *(float_value(f"a{i}") for i in range(columns))]
    return GraphView(model="wide", graph=ViewGraph(inputs=tuple(inputs), nodes=tuple(nodes)))


class TestInABrowser:
    pytestmark = in_a_browser

    def test_a_tall_drawing_starts_at_its_top_in_its_own_size(self, page: Browser) -> None:
        left, top, width, height = page.view_box()
        assert top == 0
        assert width == pytest.approx(page.ask("document.body.clientWidth"))
        assert height == NOTEBOOK_HEIGHT
        assert left < 0  # in the middle
        assert page.ask("document.querySelector('svg').getBoundingClientRect().height") == NOTEBOOK_HEIGHT
        assert page.ask("document.querySelector('div').scrollHeight") == NOTEBOOK_HEIGHT

    def test_a_wide_drawing_starts_readable_with_its_legend_in_sight(self, browser: Browser, tmp_path: Path) -> None:
        page = shown(browser, tmp_path, wide_view())
        left, top, width, _ = page.view_box()
        assert left > 0
        assert top == 0
        assert page.ask("document.body.clientWidth") / width == pytest.approx(0.7)
        assert 0 <= page.ask("document.querySelector('svg text').getBoundingClientRect().left") < 50

    @pytest.mark.parametrize("scripts", [True, False])
    def test_a_drawing_somewhat_wider_than_its_cell_fits_in(
        self, browser: Browser, tmp_path: Path, scripts: bool
    ) -> None:
        browser.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        page = shown(browser, tmp_path, wide_view(12))
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
        room = page.ask("document.body.clientWidth")
        assert room < page.ask("Number(document.querySelector('svg').getAttribute('width'))") < room / 0.55
        assert page.ask("document.querySelector('div').scrollWidth") <= room
        assert page.view_box()[0] <= 0

    def test_a_drawing_somewhat_taller_than_its_cell_fits_in(self, browser: Browser, tmp_path: Path) -> None:
        page = shown(browser, tmp_path, chain_view(*["Conv", "Relu"] * 5))
        height = page.ask("Number(document.querySelector('svg').getAttribute('height'))")
        assert NOTEBOOK_HEIGHT / 0.7 < height <= page.view_box()[3]

    def test_a_small_drawing_takes_only_the_height_it_needs(self, browser: Browser, tmp_path: Path) -> None:
        page = shown(browser, tmp_path, chain_view("Relu"))
        assert page.view_box()[3] == page.ask("document.querySelector('svg').getBoundingClientRect().height")
        assert page.view_box()[3] < NOTEBOOK_HEIGHT

    def test_the_wheel_scrolls_the_page(self, page: Browser) -> None:
        before = page.view_box()
        page.ask("window.moved = new Promise(done => addEventListener('scroll', done, {once: true})), 0")
        page.wheel(200)
        page.ask("window.moved.then(() => 0)")
        assert page.ask("scrollY") > 0
        assert page.view_box() == before

    def test_the_wheel_zooms_with_control(self, page: Browser) -> None:
        left, top, width, height = page.view_box()
        page.wheel(-200, CONTROL)
        now = page.view_box()
        assert now[2] < width
        # What is under the mouse stays there.
        assert now[0] + now[2] / 2 == pytest.approx(left + width / 2, abs=1)
        assert now[1] + now[3] / 2 == pytest.approx(top + height / 2, abs=1)
        assert page.ask("scrollY") == 0

    def test_the_wheel_zooms_after_a_click_until_a_click_elsewhere(self, page: Browser) -> None:
        first = page.view_box()
        page.click(500, 300)
        page.wheel(200)
        zoomed = page.view_box()
        assert zoomed[2] > first[2]
        page.click(500, NOTEBOOK_HEIGHT + 100)
        page.wheel(200)
        assert page.view_box() == zoomed

    def test_dragging_moves_the_drawing_and_a_double_click_brings_it_back(self, page: Browser) -> None:
        left, top, width, height = page.view_box()
        page.mouse("mousePressed", 500, 300, button="left", clickCount=1)
        page.mouse("mouseMoved", 400, 250, button="left", buttons=1)
        page.mouse("mouseReleased", 400, 250, button="left", clickCount=1)
        page.mouse("mouseMoved", 300, 200)
        assert page.view_box() == pytest.approx([left + 100, top + 50, width, height])
        page.click(500, 300, times=2)
        assert page.view_box() == pytest.approx([left, top, width, height])

    def test_a_drawing_alone_fills_the_window_and_zooms_at_once(self, browser: Browser, tmp_path: Path) -> None:
        path = tmp_path / "graph.svg"
        path.write_text(graph_svg(chain_view("Conv", "Relu")), encoding="utf-8")
        browser.open(path)
        assert browser.ask("document.documentElement.getBoundingClientRect().height") == browser.ask("innerHeight")
        before = browser.view_box()
        browser.wheel(-200)
        assert browser.view_box()[2] < before[2]

    def test_two_drawings_on_a_page_are_independent(self, browser: Browser, tmp_path: Path) -> None:
        svg = graph_svg(chain_view("Conv", "Relu"))
        path = tmp_path / "two.html"
        path.write_text(f"<!doctype html><meta charset=utf-8>{svg}{svg}", encoding="utf-8")
        browser.open(path)
        browser.wheel(-200, CONTROL)
        first, second = browser.ask("[...document.querySelectorAll('svg')].map(each => each.getAttribute('viewBox'))")
        assert first != second


def test_the_script_reads_the_same_in_xml_and_html() -> None:
    assert not set("<&") & set(SCRIPT)
