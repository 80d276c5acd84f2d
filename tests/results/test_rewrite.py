"""What a rewrite did to a model."""

from __future__ import annotations

from pathlib import Path

import msgspec
import onnx
import pytest

from onnxperf.errors import BadInput
from onnxperf.records.einsum import Rewrite
from onnxperf.results.rewrite import RewriteResult
from tests.render import einsum_examples as einsums


def test_a_rewrite_has_a_row_per_site_and_its_words() -> None:
    result = RewriteResult(einsums.rewrite())
    assert result.kind == "einsum"
    assert result.to_df()["outcome"].tolist() == ["rewritten", "kept", "skipped"]
    assert result.answer.startswith("12 of 14")
    assert result.path == "faster.onnx"
    assert "Einsum_3 and 11 more" in repr(result)
    assert "<table" in result._repr_html_()
    assert msgspec.json.decode(result.to_json(), type=Rewrite) == result.record


@pytest.mark.parametrize(
    ("output", "interrupted", "status", "has_answer"),
    [("faster.onnx", False, "ok", True), ("", False, "ok", False), ("", True, "interrupted", False)],
)
def test_without_a_written_model_there_is_no_answer(
    output: str, interrupted: bool, status: str, has_answer: bool
) -> None:
    result = RewriteResult(einsums.rewrite(output=output, interrupted=interrupted))
    assert (result.status, result.has_answer) == (status, has_answer)


def test_the_written_model_can_be_saved_elsewhere(linear_path: Path, tmp_path: Path) -> None:
    RewriteResult(einsums.rewrite(output=str(linear_path))).save(tmp_path / "copy.onnx")
    assert onnx.load(tmp_path / "copy.onnx") == onnx.load(linear_path)


@pytest.mark.parametrize(("output", "reason"), [("", "there is no rewritten model"), ("gone.onnx", "cannot be read")])
def test_a_model_that_is_not_there_is_one_clear_error(output: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=reason):
        RewriteResult(einsums.rewrite(output=output)).save(tmp_path / "copy.onnx")


def test_a_file_name_that_is_not_utf_8_can_be_saved() -> None:
    assert "udcff" in RewriteResult(einsums.rewrite(model="\udcff.onnx")).to_json()
