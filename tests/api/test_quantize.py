"""Real models in int8: what is tried, explained, refused and written; nothing here depends on how fast they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import onnxperf
from onnxperf.api import quantize as module
from onnxperf.api._quantization import quantizer as quantizers
from onnxperf.api._quantization.samples import given_calls, stacked
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.approximations import approximate_models
from onnxperf.cli.main import run
from onnxperf.errors import BadFeed, BadModel, BadOption
from onnxperf.options.functions import QUANTIZE
from onnxperf.records.quantize import Quantization, QuantizationWay
from tests.api import quantizable

DYNAMIC = QuantizationWay(name="dynamic S8", mode="dynamic")
STATIC = QuantizationWay(name="static U8S8", mode="static")


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[onnx.ModelProto], Path]:
    def save(proto: onnx.ModelProto) -> Path:
        path = tmp_path / f"{proto.graph.name}.onnx"
        onnx.save(proto, path)
        return path

    return save


def quantized(model: Path, ways: tuple[QuantizationWay, ...], **keywords: Any) -> onnxperf.QuantizeResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "WAYS", ways)
        patch.setattr(module, "monotonic", lambda: 0.0)  # there is time for all stages, however slow this machine is
        return onnxperf.quantize(model, time=1.0, threads=1, **{"max_error": 5.0, **keywords})


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best way is taken, however fast this machine is."""
    monkeypatch.setattr(module, "way_to_take", lambda record: record.best)


@pytest.mark.slow
@pytest.mark.usefixtures("taken")
def test_a_model_of_six_layers_is_quantised_raced_explained_and_written(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path
) -> None:
    proto = quantizable.mlp()
    output = tmp_path / "int8.onnx"
    found = quantized(saved(proto), (DYNAMIC, STATIC), output=output, dims={"batch": 4})
    record = found.record
    assert [each.status for each in record.ways[:2]] == ["ok", "ok"]
    assert record.ways[0].nodes == 6
    assert record.race is not None
    assert [subject.name for subject in record.race.subjects] == ["float32", "int8"]
    nodes = sorted(name for layer in record.layers for name in layer.nodes)
    assert nodes == sorted(node.name for node in proto.graph.node)
    assert sum(layer.quantized for layer in record.layers) >= 6
    assert any(layer.error is not None for layer in record.layers)
    (error,) = record.errors
    assert (error.name, error.rows) == ("x6", 4 * record.held_out_inputs)
    assert error.relative is not None
    assert error.relative < 0.5
    assert "Top-1 agreement is" in found.answer
    assert "random inputs" in found.answer
    assert (record.best, found.unwritten) == (record.chosen, "")
    assert (record.calibration_inputs, record.choosing_inputs, record.held_out_inputs) == (16, 16, 16)
    assert any("static candidates were calibrated with random inputs" in note for note in record.notes)
    session = onnxruntime.InferenceSession(output)
    assert session.run(None, {"x0": np.ones((4, 32), np.float32)})[0].shape == (4, 32)
    assert record.size_after_bytes == output.stat().st_size < record.size_before_bytes
    assert bool(found) == (record.race.subjects[1].verdict == "faster")


@pytest.mark.slow
def test_a_convolutional_model_shows_the_kernels_and_what_did_not_fuse(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path
) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, X=np.random.default_rng(0).random((9, 1, 8, 12, 12), np.float32))
    found = quantized(saved(quantizable.convolutional()), (STATIC,), calibrate=data)
    record = found.record
    by_node = {name: layer for layer in record.layers for name in layer.nodes}
    assert "QLinearConv" in by_node["first"].kernels
    assert set(by_node["first"].nodes) == {"first", "relu"}
    assert (record.calibrated, record.calibration_inputs, record.held_out_inputs) == (True, 3, 3)
    assert record.choosing_inputs == 3
    assert "held-out inputs" in found.answer
    assert not any("random" in note for note in record.notes)
    edges = {each.why for each in record.unfused if not each.node}
    assert edges == {"an input of the model is float32", "an output of the model is float32"}
    found.plot()
    for suffix in (".json", ".csv", ".md", ".png", ".xlsx"):
        found.save(tmp_path / f"found{suffix}")
    assert found.table("ways").name.tolist()[0] == "static U8S8"
    assert "Time per inference by original nodes" in repr(found)
    assert "<table" in found._repr_html_()


@pytest.mark.slow
@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize(
    "helps", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["faster without it", "not faster without it"]
)
def test_a_node_that_is_slower_in_int8_stays_in_float32_if_the_race_agrees(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helps: bool
) -> None:
    # which layers lost, and who won, is given: how fast this machine is at the moment must not matter
    monkeypatch.setattr(module, "to_exclude", lambda layers: [each for each in layers if "conv" in each.nodes])
    monkeypatch.setattr(module, "is_faster", lambda _case, _name: helps)
    output = tmp_path / "int8.onnx"
    found = quantized(saved(quantizable.matmul_and_conv()), (DYNAMIC,), output=output)
    by_node = {name: layer for layer in found.record.layers for name in layer.nodes}
    operators = {node.op_type for node in onnx.load(output).graph.node}
    assert "MatMulInteger" in operators
    assert ("ConvInteger" in operators) != helps
    assert found.record.excluded == (("conv",) if helps else ())
    assert by_node["conv"].excluded == helps
    assert not by_node["dense"].excluded
    assert ("1 node stays in float32 because it was slower in int8: conv." in found.answer) == helps
    assert found.record.ways[-1].against == "dynamic S8"


def test_a_model_without_anything_to_quantise_is_one_clear_line(saved: Callable[[onnx.ModelProto], Path]) -> None:
    with pytest.raises(BadModel, match="has nothing that onnxruntime can quantize: no MatMul, Gemm, Conv"):
        quantized(saved(quantizable.weightless()), (DYNAMIC, STATIC))


@pytest.mark.slow
def test_hostile_names_are_shown_harmlessly(
    saved: Callable[[onnx.ModelProto], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    proto = quantizable.mlp(2, names="\x1b[31m=cmd|'/C calc'!A{}<script>../../x")
    found = quantized(saved(proto), (DYNAMIC,))
    assert "\x1b" not in repr(found)
    assert "<script>" not in found._repr_html_()
    assert len(found.record.layers) >= 2


@pytest.mark.slow
def test_ctrl_c_returns_what_was_found_until_then_and_writes_nothing(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path
) -> None:
    output = tmp_path / "int8.onnx"

    def progress(_done: float, text: str) -> None:
        if "static" in text:
            raise KeyboardInterrupt

    found = quantized(saved(quantizable.mlp(2)), (DYNAMIC, STATIC), output=output, progress=progress)
    assert found.interrupted
    assert "No model in int8 was chosen" in found.answer
    assert not output.exists()


def test_the_model_itself_is_not_overwritten(saved: Callable[[onnx.ModelProto], Path]) -> None:
    path = saved(quantizable.mlp(2))
    with pytest.raises(BadOption, match="that is the model itself"):
        onnxperf.quantize(path, output=path)


@pytest.mark.slow
def test_weights_whose_shape_is_noted_are_quantised_in_dynamic_ways_too(
    saved: Callable[[onnx.ModelProto], Path],
) -> None:
    found = quantized(saved(quantizable.transposed()), (DYNAMIC,))
    assert (found.record.ways[0].status, found.record.ways[0].nodes) == ("ok", 1)


def test_a_run_without_layers_still_has_a_chart() -> None:
    assert onnxperf.QuantizeResult(Quantization(model="m")).plot() is not None


@pytest.mark.slow
def test_inputs_that_are_given_stay_the_same_in_all_calls(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 32), np.float32))
    found = quantized(saved(quantizable.mlp(2)), (DYNAMIC,), feeds={"x0": tmp_path / "x.npy"})
    assert (found.record.calibration_inputs, found.record.held_out_inputs) == (1, 1)
    assert found.record.overlap
    assert any("calibration, choice and errors share one input" in note for note in found.record.notes)


@pytest.mark.parametrize(
    ("keywords", "problem"),
    [
        ({"max_error": -0.1}, "at least 0"),
        ({"max_error": "little"}, "0.01 or 1%"),
        ({"time": 0}, "more than 0"),
        ({"threads": [1, 2]}, "threads has several values"),
        ({"variants": {"a": {}, "b": {}}}, "variants has several values"),
        ({"variants": {"a": {"runtime": "numpy"}}}, "not of numpy"),
        ({"warmup": 1.0}, "unknown option 'warmup'"),
    ],
)
def test_what_makes_no_sense_is_refused(
    saved: Callable[[onnx.ModelProto], Path], keywords: dict[str, Any], problem: str
) -> None:
    with pytest.raises(BadOption, match=problem):
        onnxperf.quantize(saved(quantizable.mlp(2)), **keywords)


def test_calls_of_calibration_can_be_put_into_one_array_and_taken_apart_again(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.npz" for number in range(2)]
    for number, file in enumerate(files):
        np.savez(file, x0=np.full((3, 32), number, np.float32))
    model, options = open_source(saved(quantizable.mlp(2))), parse({}, QUANTIZE).inputs
    calls = given_calls(model, [str(each) for each in files], options)
    assert [call["x0"][0, 0] for call in calls] == [0, 0, 0, 1, 1, 1]
    again = given_calls(model, stacked(calls), options)
    assert [call["x0"].tolist() for call in again] == [call["x0"].tolist() for call in calls]
    assert stacked([]) == {}


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"y": np.zeros((4, 32), np.float32)}, "has no array for input 'x0'; its arrays are: y"),
        ({"x0": np.zeros((4, 4, 4, 32), np.float32)}, "has 4 axes, and the input has 2"),
        ({"x0": np.zeros((4, 32), np.float64)}, "expected float32, got float64"),
        ({"x0": np.zeros((4, 2, 31), np.float32)}, "x0"),
        ({"x0": np.zeros((0, 32), np.float32)}, "takes 1 row, and there are 0"),
        ({"x0": np.array([["a"]], object)}, "pickled Python objects, which are never loaded"),
    ],
    ids=["missing", "axes", "type", "shape", "empty", "pickled"],
)
def test_calibration_data_that_do_not_fit_are_one_line(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path, arrays: dict[str, Any], reason: str
) -> None:
    data = tmp_path / "data.npz"
    np.savez(data, **arrays)
    with pytest.raises(BadFeed) as caught:
        onnxperf.quantize(saved(quantizable.mlp(2)), calibrate=data)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_model_that_is_too_large_is_one_line(
    saved: Callable[[onnx.ModelProto], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quantizers, "LARGEST_PROTO_BYTES", 1000)
    with pytest.raises(BadModel, match=r"only models of up to 1\.00 kB can be quantized"):
        onnxperf.quantize(saved(quantizable.mlp(2)))


@pytest.mark.slow
def test_a_quantiser_that_dies_is_a_row_with_a_reason(
    saved: Callable[[onnx.ModelProto], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = quantizers.Quantizer.quantized

    def dying(self: quantizers.Quantizer, way: QuantizationWay, **more: Any) -> quantizers.Quantized:
        if way is STATIC and self._worker is not None:
            self._worker._process.kill()
        return real(self, way, **more)

    monkeypatch.setattr(quantizers.Quantizer, "quantized", dying)
    found = quantized(saved(quantizable.mlp(2)), (STATIC, DYNAMIC))
    assert {each.status for each in found.record.ways[:2]} <= {"ok", "crashed"}
    assert found.record.ways[1].status == "ok"


@pytest.mark.slow
def test_a_model_that_is_slower_in_int8_is_not_written_and_the_exit_code_says_so(
    saved: Callable[[onnx.ModelProto], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAYS", (DYNAMIC,))
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    monkeypatch.setattr(module, "way_to_take", lambda _record: "")
    output = tmp_path / "int8.onnx"
    words = ["quantize", str(saved(quantizable.mlp(2))), "--time", "1", "--threads", "1", "-o", str(output)]
    assert run([*words, "--store", str(tmp_path / "runs.sqlite")]) == 3
    assert "was not written: int8 is slower than float32" in " ".join(capsys.readouterr().out.split())
    assert not output.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("taken")
def test_the_command_writes_files_and_keeps_the_run(
    saved: Callable[[onnx.ModelProto], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "WAYS", (DYNAMIC,))
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)
    path = str(saved(quantizable.mlp(2)))
    data = tmp_path / "data.npz"
    np.savez(data, x0=np.random.default_rng(0).random((8, 32), np.float32))
    store = ["--store", str(tmp_path / "runs.sqlite")]
    files = ["-o", str(tmp_path / "int8.onnx"), "-o", str(tmp_path / "layers.csv")]
    words = ["quantize", path, "--calibrate", str(data), "--time", "1", "--max-error", "500%", *store, *files]
    assert run([*words, "--threads", "1"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "dynamic S8" in shown
    assert "Top-1 agreement is" in shown
    assert (tmp_path / "int8.onnx").is_file()
    assert "matmul0" in (tmp_path / "layers.csv").read_text()
    assert run(["runs", "show", "last", *store]) == 0
    assert "Time per inference by original nodes" in capsys.readouterr().out


# ---------------------------------------------------------------- for the tuner


@pytest.mark.parametrize(
    ("calibration", "expected"),
    [
        (None, ["int8 dynamic signed", "int8 dynamic unsigned", "float16"]),
        (
            {"x0": np.ones((4, 32), np.float32)},
            ["int8 static", "int8 static per channel", "int8 dynamic signed", "int8 dynamic unsigned", "float16"],
        ),
    ],
    ids=["without calibration", "with calibration"],
)
def test_approximate_models_keep_inputs_and_outputs(
    saved: Callable[[onnx.ModelProto], Path], tmp_path: Path, calibration: Any, expected: list[str]
) -> None:
    settings = parse({"threads": 1}, QUANTIZE)
    entry = open_entries(saved(quantizable.mlp(2)), settings.inputs, None)[0]
    made = approximate_models(entry, settings, tmp_path, given_calls(entry.model, calibration, settings.inputs))
    assert [name for name, _ in made if name != "bfloat16"] == expected
    for _, path in made:
        session = onnxruntime.InferenceSession(path)
        assert [(each.name, each.type) for each in session.get_inputs()] == [("x0", "tensor(float)")]
        assert [(each.name, each.type) for each in session.get_outputs()] == [("x2", "tensor(float)")]


def test_what_cannot_be_approximated_is_left_out(saved: Callable[[onnx.ModelProto], Path], tmp_path: Path) -> None:
    settings = parse({"threads": 1}, QUANTIZE)
    entry = open_entries(saved(quantizable.weightless()), settings.inputs, None)[0]
    names = [name for name, _ in approximate_models(entry, settings, tmp_path, [])]
    assert not any(name.startswith("int8") for name in names)
