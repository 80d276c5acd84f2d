"""Cases on their way to another machine: what travels, where it lands, and what comes back."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.judges.nodes import compare_nodes
from onnxperf.api._cluster.parcels import CaseAnswer, CaseParcel, Files, pack, packed_feeds, read_feeds, run_parcel
from onnxperf.api._cluster.places import ClusterPlace, place_in
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._shared.cells import Contest, cell_of_functions, cells_of
from onnxperf.api._shared.requests import parse
from onnxperf.cluster.base import JobLoad
from onnxperf.cluster.node import function_named, write_once
from onnxperf.errors import BadOption
from onnxperf.options.functions import CASE
from onnxperf.records.race import Case
from tests.render import examples
from tests.store.examples import sql


def quiet(_done: float, _text: str) -> None:
    pass


def landed(load: JobLoad, folder: Path) -> Path:
    """The folder of a node that has got the files of a job."""
    for name, contents in load.files.items():
        write_once(folder, name, contents.read_bytes if isinstance(contents, Path) else partial(bytes, contents))
    return folder


def test_settings_arrive_as_they_were_given(linear_path: Path) -> None:
    keywords: dict[str, Any] = {
        "dims": {"batch": [1, 2]},
        "threads": [1, 2],
        "options": {"session.intra_op.allow_spinning": "0"},
        "ranges": {"X": (0.0, 2.5)},
        "time": 0.5,
        "memory_limit": "1GB",
    }
    settings = parse(keywords, CASE)
    cell = cells_of(Contest([str(linear_path)], feeds=None), settings)[1]
    parcel = msgspec.msgpack.decode(pack(cell, Files(), several=True).payload, type=CaseParcel)
    assert parcel.settings == settings.sized_as({"batch": 2})
    assert parcel.dims == {"batch": 2}


def test_a_model_travels_with_its_external_data_and_runs_where_it_lands(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.full((10, 4), 0.5, np.float32), "W")
    x = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.FLOAT, ["batch", 10])
    y = onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, ["batch", 4])
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["X", "W"], ["Y"])], "g", [x], [y], [weight])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)
    path = tmp_path / "here" / "model.onnx"
    path.parent.mkdir()
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    settings = parse({"time": 0.1, "threads": 1, "warmup": 0.01, "dims": {"batch": 3}}, CASE)
    load = pack(cells_of(Contest([str(path)]), settings)[0], Files(), several=False)
    assert sorted(Path(name).name for name in load.files) == ["model.onnx", "weights.bin"]
    folder = landed(load, tmp_path / "there")
    path.unlink()
    (path.parent / "weights.bin").unlink()
    answer = msgspec.json.decode(run_parcel(load.payload, folder, quiet), type=CaseAnswer)
    assert answer.case is not None
    assert (answer.case.status, answer.case.model, answer.case.dims) == ("ok", "model", {"batch": 3})
    assert answer.machine.cores >= 1


def test_a_request_that_is_at_fault_comes_back_as_a_line(linear_path: Path, tmp_path: Path) -> None:
    cell = cells_of(Contest([str(linear_path)]), parse({"dims": {"unknown": 2}}, CASE))[0]
    load = pack(cell, Files(), several=False)
    answer = msgspec.json.decode(run_parcel(load.payload, landed(load, tmp_path), quiet), type=CaseAnswer)
    assert answer.case is None
    assert "unknown" in answer.error


def test_files_are_packed_once_for_all_cases(linear_path: Path) -> None:
    files, cells = Files(), cells_of(Contest([str(linear_path)]), parse({"dims": {"batch": [1, 2]}}, CASE))
    first, second = (pack(cell, files, several=True).files for cell in cells)
    assert [id(each) for each in first.values()] == [id(each) for each in second.values()]


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=5), st.lists(st.text(max_size=5), max_size=3))
def test_inputs_arrive_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float], texts: list[str]
) -> None:
    arrays = {
        "x": np.array(numbers, np.float32),
        "flipped": np.arange(6.0).reshape(2, 3).T,
        "t": np.array(texts, object),
    }
    name, files = packed_feeds(arrays)
    folder = tmp_path_factory.mktemp("node")
    (folder / name).parent.mkdir()
    (folder / name).write_bytes(bytes(files[name]))
    found = read_feeds(folder, name) or {}
    assert all(np.array_equal(found[key], arrays[key]) for key in arrays)
    assert found["flipped"].strides == arrays["flipped"].strides


@pytest.mark.parametrize("name", ["../outside", "/etc/outside", "a/../../outside"])
def test_no_file_lands_outside_the_folder_of_a_node(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="outside the folder"):
        write_once(tmp_path / "node", name, lambda: b"")
    assert list(tmp_path.iterdir()) == []


def test_a_node_runs_functions_of_this_package_only() -> None:
    assert function_named("onnxperf.api._cluster.parcels:run_parcel") is run_parcel
    with pytest.raises(ValueError, match="not a function of onnxperf"):
        function_named("os:system")


def test_functions_stay_here() -> None:
    with pytest.raises(BadOption, match="on this machine only"):
        pack(cell_of_functions({"f": list}, parse({}, CASE)), Files(), several=False)


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({}, None),
        ({"on": "ray"}, ClusterPlace("ray")),
        ({"on": "auto", "each_node": True}, ClusterPlace("auto", each=True)),
        ({"on": "ray://head:10001"}, ClusterPlace("ray://head:10001")),
        ({"on": "10.0.0.1:6379"}, ClusterPlace("10.0.0.1:6379")),
    ],
)
def test_a_place_is_here_or_a_cluster(keywords: dict[str, str], expected: ClusterPlace | None) -> None:
    assert place_in(keywords) == expected


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"each_node": True}, "only a cluster has nodes"),
        ({"on": "slurm"}, "expected ray, ray://HOST:PORT, HOST:PORT or auto"),
        ({"on": "ray://head"}, "expected ray"),
    ],
)
def test_what_is_no_place_is_refused(keywords: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        place_in(keywords)


def on_node(node: str, median_ns: float) -> Case:
    subject = msgspec.structs.replace(examples.subject("ort", median_ns), time_ns=median_ns)
    return msgspec.structs.replace(examples.case(subject), model=f"m @{node}", node=node, dims={"batch": 1})


def test_nodes_are_compared_without_a_verdict() -> None:
    found = compare_nodes([on_node("a", 100.0), on_node("b", 150.0)])
    assert found is not None
    assert (found.nodes, found.rows[0].model, found.rows[0].times) == (["a", "b"], "m", {"a": 100.0, "b": 150.0})
    assert found.rows[0].ratio("b", "a") == 1.5
    assert found.lines[0].startswith("On b a call takes 1.5")
    assert "not verdicts" in found.lines[-1]


def test_cases_of_different_nodes_are_not_a_comparison() -> None:
    other = msgspec.structs.replace(on_node("b", 150.0), dims={"batch": 2})
    assert compare_nodes([on_node("a", 100.0), other]) is None


def test_a_case_whose_node_died_waits_again_with_the_reason_in_its_attempt(tmp_path: Path) -> None:
    lost = msgspec.structs.replace(examples.case(), status="crashed", answer="the node x died")
    with RunWriter(tmp_path / "runs.sqlite") as writer:
        recorder = RunRecorder(writer, "test")
        recorder.plan(["a", "b"], examples.bench().machine)
        recorder.begin("a")
        recorder.begin("b")
        recorder.give_up("a", lost)
        store = writer.opened()
        assert store.cases_of(recorder.run) == {"a": "pending", "b": "running"}
        assert sql(store, "SELECT status, reason FROM attempts ORDER BY id") == [
            ("crashed", "the node x died"),
            ("running", ""),
        ]
