"""What a check and a conversion found."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxperf.errors import BadInput
from onnxperf.records.check import Check, Difference
from onnxperf.records.convert import Conversion
from onnxperf.results.check import CheckResult
from onnxperf.results.convert import ConvertResult


def check(equal: bool) -> Check:
    outputs = (Difference(name="Y", equal=equal, elements=3),)
    return Check(model="m", first="ort", second="numpy", rtol=1e-3, atol=1e-5, outputs=outputs)


def conversion(*checks: Check) -> Conversion:
    return Conversion(
        model="m", framework="torch", versions={}, opset=20, inputs=(), outputs=(), nodes=1, size_bytes=4, checks=checks
    )


@pytest.mark.parametrize(("equal", "status"), [(True, "ok"), (False, "differs")])
def test_outputs_that_differ_are_the_status(equal: bool, status: str) -> None:
    for result in (CheckResult(check(equal)), ConvertResult(conversion(check(equal)))):
        assert bool(result) is result.record.equal is equal
        assert result.status == status
        assert result.to_df()["equal"].tolist() == [equal]
        assert result.answer in repr(result)


def test_a_conversion_has_a_row_per_check_and_output() -> None:
    frame = ConvertResult(conversion(check(True), check(True))).to_df()
    assert frame["check"].tolist() == ["m", "m"]
    assert list(ConvertResult(conversion()).to_df().columns) == list(frame.columns)


def test_a_record_alone_has_no_model(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the record of m holds no model; convert it again"):
        ConvertResult(conversion()).save(tmp_path / "model.onnx")
    ConvertResult(conversion()).save(tmp_path / "report.json")
    assert (tmp_path / "report.json").is_file()
