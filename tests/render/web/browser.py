"""A page opened in the system's Chromium, which notes every complaint and every request."""

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
