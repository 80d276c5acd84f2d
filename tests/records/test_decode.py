"""Records of older versions are brought up to date, step by step."""

from __future__ import annotations

import pytest
from msgspec import Struct

from onnxperf.records import decode
from onnxperf.records.decode import DamagedRecord, Fields, decoded


class Weather(Struct):
    """A made-up record in its third version."""

    warmth_kelvin: float
    place: str
    version: int = 3


def _kelvin(fields: Fields) -> Fields:
    return {"warmth_kelvin": fields["celsius"] + 273.15}


def _with_place(fields: Fields) -> Fields:
    return {**fields, "place": "unknown"}


@pytest.fixture(autouse=True)
def _made_up_upgrades(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "UPGRADES", {Weather: (_kelvin, _with_place)})


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 1, "celsius": 0.0},
        {"version": 2, "warmth_kelvin": 273.15},
        {"version": 3, "warmth_kelvin": 273.15, "place": "unknown"},
    ],
)
def test_every_version_becomes_the_newest(fields: Fields) -> None:
    assert decoded(fields, Weather) == Weather(273.15, "unknown")


@pytest.mark.parametrize(
    "fields", [{}, [], {"version": "x"}, {"version": 1}, {"version": 1, "celsius": "warm"}, {"version": -7}]
)
def test_what_cannot_be_brought_up_to_date_is_damaged(fields: object) -> None:
    with pytest.raises(DamagedRecord):
        decoded(fields, Weather)
