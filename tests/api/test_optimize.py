"""`onnxperf.optimize` with real sessions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxperf
from onnxperf.errors import BadInput, BadModel, BadOption
from tests.api.models import make_model


@pytest.fixture
def gelu() -> onnx.ModelProto:
    """x * 0.5 * (1 + erf(x / sqrt 2)), which onnxruntime fuses into one node."""
    text = """
    <ir_version: 9, opset_import: ["" : 18]>
    gelu (float[4, 8] x) => (float[4, 8] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}>
    { a = Div(x, root) b = Erf(a) c = Add(b, one) d = Mul(x, c) y = Mul(d, half) }
    """
    return onnx.parser.parse_model(text)


def test_what_onnxruntime_executes_is_written_and_explained(gelu: onnx.ModelProto, tmp_path: Path) -> None:
    result = onnxperf.optimize(gelu, tmp_path / "out.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node] == ["Gelu"]
    [fused] = [group for group in result.record.groups if group.kind == "fused"]
    assert fused.source_ops == ("Div", "Erf", "Add", "Mul", "Mul")
    assert fused.executed_ops == ("Gelu",)
    assert result.counts().query("op_name == 'Mul'").values.tolist() == [["Mul", 2, 0, -2]]
    assert "5 nodes became 1" in result.answer
    assert "Gelu" in repr(result)
    assert "<table" in result._repr_html_()
    assert len(result.to_df()) == len(result.record.groups)
    assert result.record.machine is not None
    assert repr(onnxperf.OptimizeResult(result.record)) == repr(result)


def test_the_model_and_its_report_can_be_saved_elsewhere(gelu: onnx.ModelProto, tmp_path: Path) -> None:
    result = onnxperf.optimize(gelu, tmp_path / "out.onnx")
    result.save(tmp_path / "copy.onnx")
    assert (tmp_path / "copy.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()
    result.save(tmp_path / "counts.csv", table="operators")
    assert (tmp_path / "counts.csv").read_text(encoding="utf-8").splitlines()[0] == "op_name,before,after,change"
    (tmp_path / "out.onnx").unlink()
    with pytest.raises(BadInput, match="cannot read the optimized model"):
        result.save(tmp_path / "again.onnx")


def test_the_written_model_gives_the_same_results(gelu: onnx.ModelProto, tmp_path: Path) -> None:
    onnxperf.optimize(gelu, tmp_path / "out.onnx")
    feeds = {"x": np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)}
    before, after = (onnxperf.load(m, threads=1).run(feeds)["y"] for m in (gelu, tmp_path / "out.onnx"))
    np.testing.assert_allclose(before, after, rtol=1e-6)


def test_a_level_that_does_nothing_keeps_all_nodes(tmp_path: Path) -> None:
    result = onnxperf.optimize(make_model(2), tmp_path / "out.onnx", opt_level="disable")
    assert {group.kind for group in result.record.groups} == {"kept"}
    assert result.record.before == result.record.after == {"MatMul": 2, "Relu": 2}


def test_a_model_that_uses_external_data_can_be_optimized(tmp_path: Path) -> None:
    path = tmp_path / "in.onnx"
    onnx.save_model(make_model(2), path, save_as_external_data=True, location="w.bin", size_threshold=0)
    result = onnxperf.optimize(path, tmp_path / "out.onnx")
    assert onnxperf.check(result.path, runtime="ort,reference")


def test_one_variant_by_name_sets_up_the_session(gelu: onnx.ModelProto, tmp_path: Path) -> None:
    result = onnxperf.optimize(gelu, tmp_path / "out.onnx", variants={"plain": {"opt_level": "disable"}})
    assert result.record.session.opt_level == "disable"
    assert result.record.before == result.record.after


def test_a_session_that_needs_more_memory_than_allowed_is_refused(gelu: onnx.ModelProto, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"more than the 1\.00 MB of `memory_limit`"):
        onnxperf.optimize(gelu, tmp_path / "out.onnx", memory_limit="1MB")


def test_wrong_places_and_models_are_refused(linear_path: Path, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="the model itself"):
        onnxperf.optimize(linear_path, linear_path)
    with pytest.raises(BadOption, match="folder does not exist"):
        onnxperf.optimize(linear_path, tmp_path / "no" / "out.onnx")
    with pytest.raises(BadModel):
        onnxperf.optimize(b"junk", tmp_path / "out.onnx")
    with pytest.raises(BadOption, match="threads has several values"):
        onnxperf.optimize(linear_path, tmp_path / "out.onnx", threads=[1, 2])


def test_files_are_found_after_a_change_of_the_folder(
    gelu: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that reads models stays where it was started."""
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        onnx.save(gelu, "in.onnx")
        assert onnxperf.optimize("in.onnx", "out.onnx").path == "out.onnx"
