"""What all tests in a browser share: Chromium, and pages that are measured once."""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.render.web.browser import opened_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    with opened_browser() as found:
        yield found


@pytest.fixture
def page_of(shared_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """The page of a kind, measured once for all processes."""
    from tests.render.web.pages import KINDS, model_in

    folder = shared_folder / "pages"
    folder.mkdir(exist_ok=True)

    def page(kind: str) -> Path:
        made = folder / f"{kind}.html"
        with made.with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # until the file is closed
            if not made.exists():
                with monkeypatch.context() as patch:
                    patch.chdir(tmp_path)
                    KINDS[kind](model_in(str(tmp_path))).save(tmp_path / made.name)
                (tmp_path / made.name).replace(made)  # whole, or not there
        return made

    return page
