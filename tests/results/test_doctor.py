"""What the doctor found out."""

from __future__ import annotations

import pytest

from onnxperf.results.doctor import DoctorResult
from tests.render import examples


@pytest.mark.parametrize(("band", "shown"), [(0.004, True), (None, False)])
def test_the_report_shows_facts_rows_noise_and_sentence(band: float | None, shown: bool) -> None:
    result = DoctorResult(examples.machine(), [("providers", "CPUExecutionProvider")], band, "1 % can be seen here.")
    for text in [repr(result), result._repr_html_()]:
        assert "CPUExecutionProvider" in text
        assert "avx512f" in text
        assert "1 % can be seen here." in text
        assert ("±0.40 % (A/A race)" in text) == shown
