"""`onnxperf.profile` with `roofline`: true shapes of real sessions against the peaks of a round machine."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import numpy as np
import onnx
import onnx.parser
import pytest
from msgspec.structs import replace
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.api._shared import peaks as finding
from onnxperf.errors import BadOption
from onnxperf.measure.machine import peaks as kept
from onnxperf.records.headroom import Peaks
from onnxperf.records.profile import Profile
from tests.api.test_profile import LOOP
from tests.headrooms import PEAKS


@pytest.fixture(autouse=True)
def round_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its peaks are known, and nothing else runs on it: what a test sees does not depend on other programs."""
    monkeypatch.setattr("onnxperf.api._shared.recordings.peaks_of", lambda _threads, _progress: PEAKS)
    monkeypatch.setattr("onnxperf.analyze.trace.headroom._is_undisturbed", lambda _node, _profile, _free: True)


def network() -> onnx.ModelProto:
    """A convolution with its Relu, whose weights are packed, a view, and a product, whose weights are packed, too."""
    random = np.random.default_rng(0)
    weights = {"W": (16, 3, 3, 3), "B": (16,), "M": (4096, 10)}
    nodes = [
        helper.make_node("Conv", ["X", "W", "B"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"], name="relu"),
        helper.make_node("Flatten", ["r"], ["f"], name="flatten"),
        helper.make_node("MatMul", ["f", "M"], ["Y"], name="product"),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
            for name, shape in weights.items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture(params=["disable", "extended", "all"])
def measured(request: pytest.FixtureRequest) -> onnxperf.ProfileResult:
    return onnxperf.profile(network(), calls=4, dims={"batch": 2}, threads=1, opt_level=request.param, roofline=True)


def test_work_is_counted_at_every_level_though_weights_vanish_from_the_trace(
    measured: onnxperf.ProfileResult,
) -> None:
    headroom = measured.record.headroom
    assert headroom is not None
    flops = {
        node.op_name: limit.flop
        for node, limit in zip(measured.record.nodes, headroom.nodes, strict=True)
        if limit.flop
    }
    assert flops["MatMul" if "MatMul" in flops else "Gemm"] == 2 * 2 * 4096 * 10
    assert sum(flops.values()) - 2 * 2 * 4096 * 10 in (
        2 * 2 * 16 * 256 * 27,
        2 * 2 * 16 * 256 * 27 + 2 * 16 * 256,  # with a Relu of its own
    )
    assert all(limit.counted for limit in headroom.nodes)
    assert headroom.whole.moved_bytes > 4 * (4096 * 10 + 2 * 768 + 2 * 16 * 256)


def test_sums_agree_and_nothing_is_above_the_peaks(measured: onnxperf.ProfileResult) -> None:
    record, headroom = measured.record, measured.record.headroom
    assert headroom is not None
    assert [each.time_us for each in headroom.nodes] == [node.usual_us for node in record.nodes]
    assert headroom.whole.time_us <= record.usual_nodes_us + 1e-6
    for rows in (headroom.nodes, headroom.operators, headroom.sources):
        assert sum(each.time_us for each in rows) == pytest.approx(headroom.whole.time_us)
        assert sum(each.could_win_us for each in rows) == pytest.approx(headroom.whole.could_win_us)
        assert all((each.gflop_per_s or 0) <= 1.000001 * PEAKS.gflop_per_s for each in rows)
        assert all((each.gb_per_s or 0) <= 1.000001 * PEAKS.cache_gb_per_s for each in rows)
    lengths = [len(rows) for rows in (record.nodes, record.operators, record.sources, record.modules)]
    assert lengths == [len(getattr(headroom, name)) for name in ("nodes", "operators", "sources", "modules")]


def test_bodies_count_as_often_as_they_run() -> None:
    record = onnxperf.profile(onnx.parser.parse_model(LOOP), calls=3, threads=1, roofline=True).record
    assert record.headroom is not None
    limits = {node.op_name: limit for node, limit in zip(record.nodes, record.headroom.nodes, strict=True)}
    assert limits["Add"].flop == 3 * 8
    assert (limits["Loop"].flop, limits["Loop"].moved_bytes) == (0, 0)


def test_the_record_holds_it_and_older_ones_load_without(tmp_path: Path) -> None:
    result = onnxperf.profile(network(), calls=3, threads=1, roofline=True)
    document = json.loads(result.to_json())
    assert msgspec.json.decode(result.to_json(), type=Profile).headroom == result.record.headroom
    del document["headroom"]
    assert msgspec.json.decode(json.dumps(document), type=Profile).headroom is None
    assert "could win" in repr(result)
    result.save(tmp_path / "roofline.png")
    result.save(tmp_path / "nodes.csv")
    assert "could_win_us" in (tmp_path / "nodes.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert (tmp_path / "roofline.png").read_bytes().startswith(b"\x89PNG")
    won = result.by_headroom()["could_win_us"]
    assert list(won) == sorted(won, reverse=True)
    assert "headroom" in result.table_names()
    assert "gflop_per_s" in result.by_operator() and "moved_bytes" in result.by_source()  # noqa: PT018
    assert "gflop_per_s" not in result.by_node(min_us=1)


def test_without_limits_there_is_no_table_of_them() -> None:
    result = onnxperf.profile(network(), calls=2, threads=1)
    assert "headroom" not in result.table_names()
    with pytest.raises(BadOption, match="profile the model with `roofline`"):
        result.by_headroom()


def test_a_trace_has_no_machine_to_be_compared_with(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace.json"
    measured = onnxperf.profile(network(), calls=2, threads=1)
    measured.save(trace)
    with pytest.raises(BadOption, match="a trace does not say what its machine can do"):
        onnxperf.profile(trace, roofline=True)
    with pytest.raises(BadOption, match="a trace does not say what its machine can do"):
        onnxperf.view(network(), profile=trace, by="headroom")
    with pytest.raises(BadOption, match="profile the model with `roofline`"):
        onnxperf.view(network(), profile=measured, by="headroom")


def test_a_view_shows_what_each_node_could_win(tmp_path: Path) -> None:
    measured = onnxperf.profile(network(), calls=3, threads=1, roofline=True)
    for result in (
        onnxperf.view(network(), profile=measured, by="headroom"),
        onnxperf.view(network(), profile=True, by="headroom", threads=1),
    ):
        metrics = result.record.metrics
        assert metrics is not None
        assert metrics.by == "headroom"
        assert {"0", "3"} <= set(metrics.nodes)
        assert any(line.startswith("could win ") for line in metrics.nodes["0"].lines)
        assert all(0 <= each.share <= 1 for each in metrics.nodes.values())
    result.save(tmp_path / "v.svg")
    result.save(tmp_path / "v.netron.json")
    assert "could_win_us" in (tmp_path / "v.netron.json").read_text(encoding="utf-8")


@pytest.mark.slow
def test_peaks_are_measured_once_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_PRODUCT_NS", 1_000_000)
    monkeypatch.setattr(kept, "_MOVING_NS", 1_000_000)
    monkeypatch.setattr(kept, "_LEAST_IN_MEMORY", 1 << 20)
    monkeypatch.setattr(kept, "last_cache_bytes", lambda: 1 << 18)
    monkeypatch.setattr(finding, "_SIZES", {"float": (64,), "int8": (32,)})
    monkeypatch.setattr("onnxperf.measure.machine.load.share_of_others", lambda _start, _end: 0.0)
    said = io.StringIO()
    first = finding.peaks_of(1, lambda _done, text: print(text, file=said))
    assert first.gflop_per_s > 0
    assert first.int8_gop_per_s
    assert said.getvalue() == "measuring the peaks of this machine with 1 thread\n"
    assert finding.peaks_of(1, lambda _done, text: print(text, file=said)) == first
    assert said.getvalue().count("\n") == 1


@pytest.mark.parametrize(("disturbed", "times"), [(False, 0), (True, 1)])
def test_known_peaks_are_measured_again_only_if_they_were_disturbed(
    monkeypatch: pytest.MonkeyPatch, disturbed: bool, times: int
) -> None:
    measured: list[int] = []

    def measure(threads: int, _progress: object) -> Peaks:
        measured.append(threads)
        return PEAKS

    monkeypatch.setattr(kept, "recall", lambda *_: replace(PEAKS, disturbed=disturbed))
    monkeypatch.setattr(finding, "measured_peaks", measure)
    assert finding.peaks_of(1, lambda _done, _text: None) == PEAKS
    assert len(measured) == times
