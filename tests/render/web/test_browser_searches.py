"""Real reports of what takes long to measure, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.render.web.browser import CHROMIUM, assert_drawn, assert_readable
from tests.render.web.pages import SEARCHES

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_page_is_drawn_without_complaints_requests_or_tricks_of_names(
    browser: Any, page_of: Callable[[str], Path], kind: str
) -> None:
    assert_drawn(browser, page_of(kind))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("kind", SEARCHES)
def test_texts_are_readable_and_nothing_is_cut_off_on_a_phone(
    browser: Any, page_of: Callable[[str], Path], kind: str, dark: bool
) -> None:
    assert_readable(browser, page_of(kind), dark)
