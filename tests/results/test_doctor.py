"""What the doctor found out."""

from __future__ import annotations

import json

import pytest

from onnxperf.records.doctor import MachineReport
from onnxperf.results.base import Result
from tests.render import examples


def doctored(band: float | None = 0.004, interrupted: bool = False) -> Result[MachineReport]:
    rows = {"providers": "CPUExecutionProvider"}
    return Result(
        MachineReport(
            machine=examples.machine(),
            rows=rows,
            noise_band=band,
            answer="1 % can be seen here.",
            interrupted=interrupted,
        )
    )


@pytest.mark.parametrize(("band", "shown"), [(0.004, True), (None, False)])
def test_the_report_shows_facts_rows_noise_and_sentence(band: float | None, shown: bool) -> None:
    result = doctored(band)
    for text in [repr(result), result._repr_html_(), result.to_markdown()]:
        assert "CPUExecutionProvider" in text
        assert "AVX512" in text
        assert "1 % can be seen here." in text
        assert ("±0.40 % (A/A race)" in text) == shown
    assert ("noise" in result.to_df()["fact"].tolist()) == shown


@pytest.mark.parametrize(("interrupted", "status"), [(False, "ok"), (True, "interrupted")])
def test_an_interrupted_race_is_its_status(interrupted: bool, status: str) -> None:
    assert doctored(interrupted=interrupted).status == status


def test_json_has_the_machine_the_rows_the_band_and_the_sentence() -> None:
    written = json.loads(doctored().to_json())
    assert list(written) == [
        *("version", "machine", "rows", "peaks", "noise_band", "sentence", "interrupted", "command")
    ]
    assert written["machine"]["cpu"] == examples.machine().cpu
    assert written["rows"] == {"providers": "CPUExecutionProvider"}
    assert written["noise_band"] == 0.004
    assert written["sentence"] == "1 % can be seen here."
