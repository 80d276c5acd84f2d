"""Whatever is read from outside, only the package's own errors come out; `make fuzz` looks for longer."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.targets import TARGETS, mutant, regressions

KEPT = Path(__file__).with_name("regressions")
FOUND = Path(".fuzz")
"""Where `make fuzz` leaves what broke something; it becomes a regression file once it is mended."""
NUMBERS = st.integers(0, 2**63)


def attack(name: str, data: bytes) -> None:
    """Give data to a target, and keep them if they break it."""
    try:
        TARGETS[name].read(data)
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        line = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place else ""
        folder = FOUND / name  # one file for each place: the last that hypothesis tries is the smallest
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{type(error).__name__}-{zlib.crc32(line.encode()):08x}").write_bytes(data)
        raise


@pytest.mark.parametrize("name", TARGETS)
@given(number=NUMBERS)
def test_damaged_data_are_read_or_refused(name: str, number: int) -> None:
    attack(name, mutant(TARGETS[name], number))


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(name: str, data: bytes) -> None:
    attack(name, data)


@pytest.mark.parametrize(("name", "path"), regressions(KEPT), ids=lambda value: getattr(value, "name", value))
def test_what_once_broke_something_is_read_or_refused(name: str, path: Path) -> None:
    TARGETS[name].read(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_the_same_number_gives_the_same_damage(name: str) -> None:
    first, second = ([mutant(TARGETS[name], number) for number in range(20)] for _ in range(2))
    assert first == second
    assert len(set(first)) > 10
