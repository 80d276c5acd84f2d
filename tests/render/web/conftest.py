"""What all tests in a browser share: Chromium, and pages that are measured once for each file of tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.render.web.browser import opened_browser
from tests.render.web.pages import KINDS, model_in


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    with opened_browser() as found:
        yield found


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a kind, measured once."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[str, Path] = {}

    def page(kind: str) -> Path:
        if kind not in made:
            before = Path.cwd()
            os.chdir(folder)
            try:
                result = KINDS[kind](model_in(str(folder)))
            finally:
                os.chdir(before)
            result.save(folder / f"{kind}.html")
            made[kind] = folder / f"{kind}.html"
        return made[kind]

    return page
