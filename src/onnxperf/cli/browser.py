"""Pages opened in the user's browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from onnxperf.cli.present import print_notice


def open_page(path: str | Path) -> None:
    """Open a file in the browser; print a notice if there is none."""
    if not _opened(Path(path).absolute().as_uri()):
        print_notice(f"no browser found; open the page yourself: {path}")


def open_address(url: str) -> None:
    """Open an address in the browser; print a notice if there is none."""
    if not _opened(url):
        print_notice(f"no browser found; open the page yourself: {url}")


def _opened(url: str) -> bool:
    has_screen = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(has_screen) and webbrowser.open(url)
