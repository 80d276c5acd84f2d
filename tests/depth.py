"""How far a test goes: `make test` takes a quarter of what `make test-all` takes, of random moments and of examples."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest
from hypothesis import settings

ALL_EXAMPLES = 100
"""Of the profile `all` in conftest.py."""


def often(times: int) -> int:
    """So many times in `make test-all`, and accordingly fewer where less is asked for."""
    return max(1, times * min(settings().max_examples, ALL_EXAMPLES) // ALL_EXAMPLES)


def some(cases: Iterable[Any], every: int) -> list[Any]:
    """Parameters of a test: the first and then every so many stand for all others, which only `make test-all` tries."""
    return [
        each if number % every == 0 else pytest.param(*_values(each), marks=pytest.mark.thorough)
        for number, each in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)


def all_or(chosen: Collection[str], names: Iterable[str]) -> list[Any]:
    """Parameters of a test: the chosen ones stand for all others, which only `make test-all` tries."""
    return [pytest.param(name, marks=() if name in chosen else pytest.mark.thorough) for name in names]
