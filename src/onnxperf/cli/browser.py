"""Pages opened in the user's browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from onnxperf.cli.present import complain


def open_page(path: str | Path) -> None:
    """Open a file in the browser; if there is none, one line says so, and the file stays."""
    if not _opened(Path(path).absolute().as_uri()):
        complain(f"there is no browser to open; the page is {path}")


def open_address(url: str) -> None:
    """Open an address in the browser; where there is none, one line says so."""
    if not _opened(url):
        complain("there is no browser to open")


def _opened(url: str) -> bool:
    has_screen = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return bool(has_screen) and webbrowser.open(url)
