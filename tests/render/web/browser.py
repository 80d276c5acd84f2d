"""Pages opened in the system's Chromium, which notes every complaint and every request, and what holds for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_ARGUMENTS = (
    "--no-sandbox",  # as root, as in CI
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Opened(NamedTuple):
    """A page, and what it did that it should not."""

    page: Any
    """Playwright's page."""
    complaints: list[str]
    """Errors and warnings in the console, uncaught exceptions, violations of the policy."""
    requests: list[str]
    """What it asked for besides its own file."""


@contextmanager
def opened_browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened_page(browser: Any, path: Path, width: int = 1200, dark: bool = False) -> Iterator[Opened]:
    """A file in a window of this width, after its scripts have started."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", offline=True
    )
    page = context.new_page()
    opened = Opened(page, [], [])
    page.on("console", lambda said: opened.complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    try:
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached")
        opened.requests.remove(path.as_uri())
        yield opened
    finally:
        context.close()


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
  const parts = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = parts(color).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (parts(color)[3] !== 0) return color;
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


def assert_drawn(browser: Any, path: Path) -> None:
    """All charts are there, and nothing was executed or requested that should not be."""
    assert path.stat().st_size < 8e6
    with opened_page(browser, path) as opened:
        draw_all(opened.page)
        blank = [figure.evaluate(BLANK) for figure in opened.page.query_selector_all("figure.chart")]
        assert not any(blank)
        assert opened.page.evaluate("window.broken") is None
        assert opened.page.query_selector("main img") is None
        assert (opened.complaints, opened.requests) == ([], [])


def assert_readable(browser: Any, path: Path, dark: bool) -> None:
    """On a phone, every text has contrast and nothing is cut off."""
    with opened_page(browser, path, width=390, dark=dark) as opened:
        draw_all(opened.page)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert opened.page.evaluate(FAINT) == []
        assert opened.page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
