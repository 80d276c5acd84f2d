"""`onnxperf.profile` with real sessions: models, traces, lists of events, runners."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import tempfile
from copy import copy
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import onnx.parser
import pandas
import pytest
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.errors import BadInput, BadOption
from onnxperf.records.profile import Profile
from onnxperf.render.kit.frames import frame_of

LOOP = """
<ir_version: 9, opset_import: ["" : 18]>
loops (float[2, 4] X) => (float[2, 4] Y)
<int64 n = {3}, float half = {0.5}>
{
  R = Relu(X)
  Z = Loop <body = body (int64 i, bool go, float[2, 4] acc) => (bool on, float[2, 4] next) {
      on = Identity(go)
      sum = Add(acc, X)
      next = Mul(sum, half)
  }> (n, , R)
  Y = Sigmoid(Z)
}
"""


@pytest.fixture(scope="module")
def conv() -> onnx.ModelProto:
    """Conv and Relu, which onnxruntime fuses, and names that are missing."""
    random = np.random.default_rng(0)
    weights = numpy_helper.from_array(random.standard_normal((16, 3, 3, 3)).astype(np.float32), "W")
    nodes = [
        helper.make_node("Conv", ["X", "W"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["Y"]),
    ]
    x = helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, ["batch", 3, 16, 16])
    y = helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "conv", [x], [y], initializer=[weights])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture(scope="module")
def profiled(conv: onnx.ModelProto) -> onnxperf.ProfileResult:
    return onnxperf.profile(conv, calls=6, dims={"batch": 2}, threads=1)


def test_a_model_runs_as_often_as_asked_and_its_cost_of_profiling_is_known(profiled: onnxperf.ProfileResult) -> None:
    record = profiled.record
    assert record.iterations == 6
    assert record.loading_us is not None
    assert record.initialization_us is not None
    assert record.profiled_ns is not None
    assert record.unprofiled_ns is not None
    assert record.machine is not None
    assert profiled.answer


def test_the_time_goes_back_to_the_nodes_of_the_original(profiled: onnxperf.ProfileResult) -> None:
    sources = profiled.by_source()
    fused = sources[sources["kind"] == "fused"]
    assert fused["sources"].tolist() == [("Conv_0", "Relu_1")]
    assert sources["self_us"].sum() == profiled.by_node()["self_us"].sum() == profiled.by_operator()["self_us"].sum()
    split = profiled.by_source(split=True)
    assert split[split["is_estimate"]]["source"].tolist() == ["Conv_0", "Relu_1"]
    assert split["estimated_us"].sum() == pytest.approx(sources["self_us"].sum())


def test_nodes_and_modules_come_from_what_the_exporter_wrote(conv: onnx.ModelProto) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(conv)
    for node, scope in zip(model.graph.node, ("enc: E/enc.c3: C/", "enc: E/", ""), strict=True):
        node.metadata_props.add(key="namespace", value=f": M/{scope}op: aten.op")
    result = onnxperf.profile(model, calls=3, dims={"batch": 2}, threads=1)
    nodes: Any = result.by_node().set_index("op_name")
    assert (nodes.loc["Conv", "sources"], nodes.loc["Conv", "module"]) == (("Conv_0", "Relu_1"), "enc.c3")
    assert nodes.loc["GlobalAveragePool", "module"] == ""
    modules = result.by_module()
    assert modules["module"].tolist() == ["", "enc.c3"]
    assert "\nConv_0 takes" in f"\n{result.answer}", "the node of the model, not its name in the session"
    assert "modules" in result.table_names()


def test_a_model_without_modules_has_no_table_of_them(profiled: onnxperf.ProfileResult) -> None:
    assert "modules" not in profiled.table_names()
    with pytest.raises(BadOption, match="which modules"):
        profiled.by_module()


def test_events_have_typed_columns(profiled: onnxperf.ProfileResult) -> None:
    events = profiled.events
    kernels = events[events["kind"] == "kernel"]
    assert kernels["iteration"].nunique() == 6
    assert kernels["inputs"].iloc[0][0] == ("float", (2, 3, 16, 16))
    assert {"mem_bytes_in_use", "output_size", "depth", "parent", "self_us"} <= set(events.columns)


def test_the_code_of_the_documents_runs_on_the_names_of_onnxruntime(profiled: onnxperf.ProfileResult) -> None:
    df = profiled.to_df(names="ort")
    sums = df[["dur", "args_op_name"]].groupby("args_op_name").sum().sort_values("dur")
    counts = df[["dur", "args_op_name"]].groupby("args_op_name").count().sort_values("dur")
    assert sums["dur"].sum() == profiled.by_operator()["total_us"].sum()
    assert counts.loc["Conv", "dur"] == 6
    kernels = df[(df["cat"] == "Node") & df["name"].str.contains("kernel_time")]
    assert kernels["args_output_type_shape"].apply(str).iloc[0].startswith("[{'float': [2, 16")
    names = df.loc[(df.args_op_name == "Conv") & (df.dur > 0), ["dur", "name"]].groupby("name").sum()
    assert len(names) == 1
    with pytest.raises(BadOption, match="names"):
        profiled.to_df(names="pandas")  # type: ignore[arg-type]


def test_per_iteration_is_the_sum_divided_by_the_iterations(profiled: onnxperf.ProfileResult) -> None:
    per_iteration, summed = profiled.by_operator(per_iteration=True), profiled.by_operator()
    assert (per_iteration["self_us"] * 6).tolist() == pytest.approx(summed["self_us"].tolist())
    assert per_iteration["calls"].tolist() == [1.0] * len(per_iteration)
    assert len(profiled.by_iteration()) == 6
    assert profiled.by_iteration(operators=True)["Conv"].sum() == summed.set_index("op_name").loc["Conv", "self_us"]


def test_nodes_can_be_chosen_by_operator_and_by_duration(profiled: onnxperf.ProfileResult) -> None:
    assert profiled.by_node(op="Conv")["op_name"].tolist() == ["Conv"]
    assert profiled.by_node(min_us=10**9).empty
    assert profiled.by_node(op="Nothing").empty


def test_bodies_appear_under_their_parent_with_their_executions() -> None:
    result = onnxperf.profile(onnx.parser.parse_model(LOOP), calls=4, threads=1)
    nodes: Any = result.by_node(per_iteration=True).set_index("op_name")
    assert nodes.loc["Add", "path"] == nodes.loc["Loop", "node_name"]
    assert nodes.loc["Add", "calls"] == 3
    assert nodes.loc["Loop", "total_us"] > nodes.loc["Loop", "self_us"]
    assert result.record.iterations == 4


def test_a_kept_trace_says_the_same_and_the_folder_of_the_model_stays_clean(
    conv: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(conv, tmp_path / "conv.onnx")
    kept = tmp_path / "kept.trace.json"
    result = onnxperf.profile(tmp_path / "conv.onnx", calls=3, dims={"batch": 1}, threads=1)
    result.save(kept)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["conv.onnx", "kept.trace.json"]
    for again in (onnxperf.profile(kept), onnxperf.profile(json.loads(kept.read_text(encoding="utf-8")))):
        assert again.by_operator()["self_us"].tolist() == result.by_operator()["self_us"].tolist()
        with pytest.raises(BadOption, match="original model"):
            again.by_source()


def test_traces_of_later_processes_are_saved_with_a_number(conv: onnx.ModelProto, tmp_path: Path) -> None:
    result = onnxperf.profile(conv, calls=7, dims={"batch": 1}, threads=1)
    result.save(tmp_path / "a.trace.json")
    names = ["a-2.trace.json", "a-3.trace.json", "a.trace.json"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    counts = [onnxperf.profile(tmp_path / name).record.iterations for name in names]
    assert sum(counts) - 2 == result.record.iterations == 7  # the first call of a later process is not counted
    assert result.raw_traces()[1] == (tmp_path / "a-2.trace.json").read_bytes()


def test_raw_traces_are_deleted_with_the_last_result_that_refers_to_them(
    conv: onnx.ModelProto, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = onnxperf.profile(conv, calls=2, dims={"batch": 1}, threads=1)
    again = copy(result)
    del result
    gc.collect()
    assert again.raw_traces()[0].startswith(b"[")
    assert len(list(tmp_path.rglob("*.json"))) == 1
    del again
    gc.collect()
    assert not list(tmp_path.rglob("*.json"))


def test_only_a_model_that_was_profiled_just_now_has_raw_traces(
    profiled: onnxperf.ProfileResult, tmp_path: Path
) -> None:
    profiled.save(tmp_path / "a.trace.json")
    for other in (onnxperf.profile(tmp_path / "a.trace.json"), onnxperf.ProfileResult(profiled.record)):
        with pytest.raises(BadOption, match="profiled just now"):
            other.save(tmp_path / "b.trace.json")
    assert not (tmp_path / "b.trace.json").exists()


def test_our_own_perfetto_file_can_be_read_again(profiled: onnxperf.ProfileResult, tmp_path: Path) -> None:
    profiled.save(tmp_path / "a.perfetto.json")
    again = onnxperf.profile(tmp_path / "a.perfetto.json")
    assert again.by_node()["self_us"].tolist() == profiled.by_node()["self_us"].tolist()


def test_external_data_are_found_though_the_nodes_get_names(conv: onnx.ModelProto, tmp_path: Path) -> None:
    copy = onnx.ModelProto()
    copy.CopyFrom(conv)
    path = tmp_path / "external.onnx"
    onnx.save_model(copy, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert onnxperf.profile(path, calls=2, dims={"batch": 1}, threads=1).record.iterations == 2


def test_a_runner_records_until_its_profile_is_asked_for(conv: onnx.ModelProto) -> None:
    runner = onnxperf.load(conv, profile=True, threads=1)
    feeds = {"X": np.zeros((1, 3, 16, 16), np.float32)}
    for _ in range(5):
        runner.run(feeds)
    profile = runner.profile()
    assert profile.record.iterations == 5
    assert runner.profile() is profile
    with pytest.raises(BadOption, match="no profiler"):
        onnxperf.load(conv, runtime="numpy", profile=True)


def test_a_runner_refuses_what_its_profile_would_not_have(conv: onnx.ModelProto) -> None:
    runner = onnxperf.load(conv, profile=True, threads=1)
    feeds = {"X": np.zeros((1, 3, 16, 16), np.float32)}
    with pytest.raises(BadInput, match=r"call `run` of this runner before `profile\(\)`"):
        runner.profile()
    bound = runner.bind(feeds)
    bound()
    assert runner.profile().record.iterations == 1
    for call in (bound, runner.bind(feeds), lambda: runner.run(feeds), lambda: runner.run(feeds, intermediate=True)):
        with pytest.raises(BadInput, match=r"`profile\(\)` ended the recording of this runner"):
            call()
    assert runner.profile().record.iterations == 1


def test_tables_charts_and_the_trace_are_written_and_can_be_read_back(
    profiled: onnxperf.ProfileResult, tmp_path: Path
) -> None:
    for suffix in (".json", ".md", ".csv", ".parquet", ".xlsx", ".png", ".svg", ".perfetto.json"):
        profiled.save(tmp_path / f"out{suffix}")
    profiled.save(tmp_path / "operators.csv", table="operators")
    nodes = profiled.by_node()
    csv, parquet = pandas.read_csv(tmp_path / "out.csv"), pandas.read_parquet(tmp_path / "out.parquet")
    operators = pandas.read_csv(tmp_path / "operators.csv")
    assert csv["node_name"].tolist() == [*nodes["node_name"], "total"]
    assert parquet["self_us"].tolist() == [*nodes["self_us"], nodes["self_us"].sum()]
    assert operators["op_name"].tolist() == [*profiled.by_operator()["op_name"], "total"]
    for table in (csv, parquet, operators):  # files add up, to the same total
        assert table["usual_us"].iloc[:-1].sum() == pytest.approx(table["usual_us"].iloc[-1])
        assert table["usual_us"].iloc[-1] == pytest.approx(profiled.record.nodes_us)
        assert table["share"].iloc[:-1].sum() == pytest.approx(1.0)
    sheets = pandas.read_excel(tmp_path / "out.xlsx", sheet_name=None, engine="openpyxl")
    assert {name: len(sheet) for name, sheet in sheets.items() if name != "summary"} == {
        name: len(frame_of(profiled.columns(name), with_footers=True)) for name in profiled.table_names()
    }
    assert msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=Profile) == profiled.record
    written = (tmp_path / "out.md").read_text(encoding="utf-8").replace("\\", "")
    assert all(line in written for line in profiled.answer.splitlines())
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    assert all(title in svg_words(tmp_path / "out.svg") for title in ("Time per operator", "Time per node"))
    assert onnxperf.profile(tmp_path / "out.perfetto.json").record.iterations == 6


def svg_words(path: Path) -> str:
    """What a chart says: matplotlib draws letters as shapes, and keeps their text in comments."""
    return " ".join(re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8")))


def test_a_profile_from_its_record_alone_has_sums_and_no_events(profiled: onnxperf.ProfileResult) -> None:
    again = onnxperf.ProfileResult(profiled.record)
    assert again.table_names() == ["nodes", "operators", "sources", "iterations"]
    assert repr(again) == repr(profiled)
    assert again.by_node().equals(profiled.by_node())
    for ask in (lambda: again.events, again.to_df, again.timeline, again.memory, again.perfetto):
        with pytest.raises(BadOption, match="has only sums"):
            ask()


def test_unknown_files_tables_and_calls_are_refused(profiled: onnxperf.ProfileResult, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"ends with .*\.perfetto\.json"):
        profiled.save(tmp_path / "out.doc")
    with pytest.raises(BadOption, match="table"):
        profiled.table("all")
    with pytest.raises(BadOption, match="iteration"):
        profiled.timeline(99)
    with pytest.raises(BadOption, match="calls"):
        onnxperf.profile(tmp_path / "no.onnx", calls=0)
    with pytest.raises(BadInput, match="no such file"):
        onnxperf.profile(tmp_path / "no.onnx")
    with pytest.raises(BadOption, match="unavailable provider"):
        onnxperf.profile(onnx.parser.parse_model(LOOP), provider="tpu")


USELESS: dict[str, dict[str, Any]] = {
    "calls": {"calls": 3},
    "threads": {"threads": 2},
    "dims": {"dims": {"batch": 1}},
    "timeout": {"timeout": 5.0},
    "feeds": {"feeds": {"X": np.zeros(3)}},
}


@pytest.mark.parametrize("name", USELESS)
def test_options_of_a_model_are_refused_for_a_trace(name: str) -> None:
    with pytest.raises(BadOption, match=f"{name}.*does nothing with a trace"):
        onnxperf.profile([], **USELESS[name])


def test_one_variant_by_name_is_one_profile(conv: onnx.ModelProto) -> None:
    lean = {"lean": {"threads": 1, "arena": "off", "call": "io-binding"}}
    result = onnxperf.profile(conv, calls=2, dims={"batch": 1}, variants=lean)
    assert isinstance(result, onnxperf.ProfileResult)
    assert result.record.session is not None
    assert result.record.session.arena == "off"


def test_a_variant_without_a_profiler_is_refused(conv: onnx.ModelProto) -> None:
    with pytest.raises(BadOption, match="numpy has no profiler"):
        onnxperf.profile(conv, dims={"batch": 1}, variants={"other": {"runtime": "numpy"}})


def test_a_profile_is_saved_only_if_asked(conv: onnx.ModelProto, tmp_path: Path) -> None:
    given: dict[str, Any] = {"calls": 2, "dims": {"batch": 1}, "threads": 1}
    assert not onnxperf.profile(conv, **given).run
    store = tmp_path / "runs.sqlite"
    run = onnxperf.profile(conv, **given, store=store, tags={"who": "me"}).run
    assert onnxperf.load_run(run, store=store).tags["who"] == "me"


def test_charts_show_what_was_profiled(profiled: onnxperf.ProfileResult) -> None:
    time, nodes = profiled.plot().figure.axes
    costly = profiled.by_node().sort_values("usual_us", ascending=False)["node_name"].tolist()
    assert [label.get_text() for label in nodes.get_yticklabels()] == costly
    operators = profiled.by_operator().sort_values("usual_us", ascending=False)["op_name"].tolist()
    assert [label.get_text() for label in time.get_yticklabels()] == operators
    of_conv = profiled.plot_nodes(op="Conv", min_us=1)
    [label] = [label.get_text() for label in of_conv.get_yticklabels()]
    assert label.startswith(profiled.by_node(op="Conv")["node_name"].iloc[0])
    shortest = int(profiled.by_node(op="Conv")["self_us"].iloc[0]) + 1
    assert not profiled.plot_nodes(op="Conv", min_us=shortest).get_yticklabels()
    lanes = [label.get_text() for label in profiled.timeline().get_yticklabels()]
    assert len(lanes) == 1
    assert lanes[0].startswith("thread ")


def test_it_shows_itself_as_text_and_html(profiled: onnxperf.ProfileResult) -> None:
    for shown in (repr(profiled), profiled._repr_html_(), profiled.to_markdown()):
        assert "The most costly nodes" in shown
        assert "Conv" in shown
    assert "<table" in profiled._repr_html_()


def test_ctrl_c_between_two_rounds_keeps_what_ran(conv: onnx.ModelProto) -> None:
    def stop(_done: float, text: str) -> None:
        if "profiling, round 3" in text:
            os.kill(os.getpid(), signal.SIGINT)

    result = onnxperf.profile(conv, calls=20, dims={"batch": 1}, threads=1, progress=stop)
    assert result.interrupted
    assert result.status == "interrupted"
    assert 0 < result.record.iterations < 20
    assert "Interrupted: showing what was measured so far." in repr(result)
