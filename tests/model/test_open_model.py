"""Opening models: what is read, and how a damaged or misplaced file is refused."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnxperf.errors import BadModel
from onnxperf.model import load
from onnxperf.model.index_limits import index_limits
from onnxperf.model.load import open_model
from onnxperf.model.opened import UNKNOWN_TYPE
from onnxperf.records.options import Signature

LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, 10] X) => (float[batch, 4] Y)
<float[10, 4] W>
{ Y = MatMul(X, W) }
"""


def linear() -> onnx.ModelProto:
    proto = onnx.parser.parse_model(LINEAR)
    del proto.graph.initializer[:]
    proto.graph.initializer.append(numpy_helper.from_array(np.ones((10, 4), np.float32), "W"))
    return proto


def save_external(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "m.onnx"
    onnx.save_model(linear(), path, save_as_external_data=True, location="m.data", size_threshold=0)
    return path


def set_location(path: Path, location: str, **others: str) -> None:
    proto = onnx.load(path, load_external_data=False)
    for entry in proto.graph.initializer[0].external_data:
        entry.value = {"location": location, **others}.get(entry.key, entry.value)
    path.write_bytes(proto.SerializeToString())


# ---------------------------------------------------------------- what is read


def test_a_path_is_used_in_place_and_hashed_like_sha256sum(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    onnx.save(linear(), path)
    model = open_model(str(path))
    assert (model.label, model.path) == ("small", path)
    assert model.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert model.size_bytes == path.stat().st_size
    assert model.inputs == (Signature(name="X", shape=("batch", 10)),)
    assert model.outputs == (Signature(name="Y", shape=("batch", 4)),)
    assert model.overridable == ()


def test_a_relative_path_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(linear(), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    assert open_model("m.onnx").path == tmp_path / "m.onnx"


@pytest.mark.parametrize(
    ("source", "label"), [(linear(), "linear"), (linear().SerializeToString(), "model")], ids=["proto", "bytes"]
)
def test_the_private_copy_disappears_with_the_model(source: onnx.ModelProto | bytes, label: str) -> None:
    model = open_model(source)
    path = model.path
    assert model.label == label
    assert path.is_file()
    del model
    gc.collect()
    assert not path.parent.exists()


def test_a_label_can_be_chosen() -> None:
    assert open_model(linear(), label="mine").label == "mine"


def test_an_opened_proto_does_not_follow_later_changes() -> None:
    proto = linear()
    model = open_model(proto)
    proto.graph.node[0].op_type = "Changed"
    assert model.proto.graph.node[0].op_type == "MatMul"


def test_a_proto_too_large_for_one_file_gets_external_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "LARGEST_PROTO_BYTES", 4000)
    proto = linear()
    proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((10, 400), np.float32), "W"))
    before = proto.SerializeToString()
    model, again = open_model(proto), open_model(proto)
    assert proto.SerializeToString() == before
    assert sorted(f.name for f in model.path.parent.iterdir()) == ["model.onnx", "model.onnx.data"]
    assert model.fingerprint == again.fingerprint
    assert model.size_bytes > 16000
    loaded = numpy_helper.to_array(onnx.load(model.path).graph.initializer[0])
    np.testing.assert_array_equal(loaded, np.ones((10, 400)))


def test_external_data_count_for_size_and_fingerprint_but_are_not_loaded(tmp_path: Path) -> None:
    path = save_external(tmp_path)
    first = open_model(path)
    assert first.size_bytes == path.stat().st_size + 160
    assert not first.proto.graph.initializer[0].HasField("raw_data")
    (tmp_path / "m.data").write_bytes(b"\1" * 160)
    assert open_model(path).fingerprint != first.fingerprint


def test_a_cache_that_links_to_both_files_is_accepted(tmp_path: Path) -> None:
    stored = save_external(tmp_path / "blobs")
    (tmp_path / "snapshot").mkdir()
    for name in ("m.onnx", "m.data"):
        (tmp_path / "snapshot" / name).symlink_to(stored.with_name(name))
    assert open_model(tmp_path / "snapshot" / "m.onnx").fingerprint == open_model(stored).fingerprint


def test_a_proto_whose_external_data_are_loaded_is_written_whole(tmp_path: Path) -> None:
    proto = linear()
    onnx.external_data_helper.convert_model_to_external_data(proto, location="elsewhere.data", size_threshold=0)
    model = open_model(proto)
    assert [f.name for f in model.path.parent.iterdir()] == ["model.onnx"]
    assert proto.graph.initializer[0].data_location == TensorProto.EXTERNAL


def test_initialisers_that_are_inputs_are_overridable() -> None:
    proto = linear()
    proto.graph.input.append(helper.make_tensor_value_info("W", TensorProto.FLOAT, [10, 4]))
    model = open_model(proto)
    assert [s.name for s in model.inputs] == ["X"]
    assert model.overridable == (Signature(name="W", shape=(10, 4)),)


TENSOR = helper.make_tensor_type_proto(TensorProto.INT64, ["n"])
TYPES = {
    "symbolic": (helper.make_tensor_type_proto(TensorProto.FLOAT, ["n", 3, None]), "tensor", "float32", ("n", 3, None)),
    "empty name": (helper.make_tensor_type_proto(TensorProto.FLOAT, ["", 3]), "tensor", "float32", (None, 3)),
    "minus one": (helper.make_tensor_type_proto(TensorProto.FLOAT, [-1]), "tensor", "float32", (None,)),
    "scalar": (helper.make_tensor_type_proto(TensorProto.DOUBLE, []), "tensor", "float64", ()),
    "no rank": (helper.make_tensor_type_proto(TensorProto.BOOL, None), "tensor", "bool", None),
    "strings": (helper.make_tensor_type_proto(TensorProto.STRING, [2]), "tensor", "string", (2,)),
    "bfloat16": (helper.make_tensor_type_proto(TensorProto.BFLOAT16, [2]), "tensor", "bfloat16", (2,)),
    "int4": (helper.make_tensor_type_proto(TensorProto.INT4, [2]), "tensor", "int4", (2,)),
    "sequence": (helper.make_sequence_type_proto(TENSOR), "sequence", "int64", None),
    "map": (helper.make_map_type_proto(TensorProto.STRING, TENSOR), "map", "int64", None),
    "optional": (helper.make_optional_type_proto(TENSOR), "optional", "int64", ("n",)),
    "optional sequence": (
        helper.make_optional_type_proto(helper.make_sequence_type_proto(TENSOR)),
        "optional",
        "int64",
        ("n",),
    ),
    "sparse": (helper.make_sparse_tensor_type_proto(TensorProto.FLOAT, [5]), "sparse", "float32", (5,)),
}


@pytest.mark.parametrize(("type_proto", "kind", "dtype", "shape"), TYPES.values(), ids=TYPES)
def test_every_kind_of_type_has_a_signature(
    type_proto: onnx.TypeProto, kind: str, dtype: str, shape: tuple[int | str | None, ...] | None
) -> None:
    proto = linear()
    proto.graph.input.append(helper.make_value_info("Z", type_proto))
    found = open_model(proto).inputs[1]
    assert (found.kind, found.dtype, found.shape) == (kind, dtype, shape)


def test_an_output_without_a_type_is_left_to_the_runtime() -> None:
    proto = linear()
    proto.graph.output[0].ClearField("type")
    assert open_model(proto).outputs[0].dtype == UNKNOWN_TYPE


# ---------------------------------------------------------------- what is refused


def refusal(source: str | Path | bytes | onnx.ModelProto) -> str:
    with pytest.raises(BadModel) as caught:
        open_model(source)
    text = str(caught.value)
    assert "\n" not in text
    return text


WHOLE = linear().SerializeToString()
CONTENTS = {
    "empty": (b"", "is empty"),
    "text": (b"hello world, this is no model", "not an ONNX file"),
    "json": (b'{"graph": 1}', "not an ONNX file"),
    "ort": (b"\x24\0\0\0ORTM" + b"\0" * 40, ".ort"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    "zip": (b"PK\x03\x04" + b"\0" * 40, "zip archive"),
    "half": (WHOLE[: len(WHOLE) // 2], "truncated or damaged"),
    "two bytes": (WHOLE[:2], "truncated or damaged"),
    "no opset": (WHOLE[:-4], "truncated or damaged"),
    "one byte short": (WHOLE[:-1], "truncated or damaged"),
    "bad name": (WHOLE.replace(b"MatMul", b"Mat\xff\xfel"), "damaged"),
}


@pytest.mark.parametrize(("content", "said"), CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("as_file", [True, False], ids=["file", "bytes"])
def test_what_is_no_whole_model_is_refused(content: bytes, said: str, as_file: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert said in refusal(path if as_file else content)


@pytest.mark.parametrize("version", [2**31, 2**62, -1])
@pytest.mark.parametrize("inside", [False, True], ids=["model", "function"])
def test_a_version_of_operators_that_cannot_exist_is_refused(version: int, inside: bool) -> None:
    proto = linear()
    imports = [helper.make_opsetid("", version)]
    if inside:
        proto.functions.append(helper.make_function("own", "F", [], [], [], imports))
    else:
        proto.opset_import[0].version = version
    assert f"declares version {version} of the operators of 'ai.onnx'" in refusal(proto)


def no_such_file(folder: Path) -> Path:
    return folder / "absent.onnx"


def a_folder(folder: Path) -> Path:
    return folder


def missing_data(folder: Path) -> Path:
    path = save_external(folder)
    (folder / "m.data").unlink()
    return path


def short_data(folder: Path) -> Path:
    path = save_external(folder)
    os.truncate(folder / "m.data", 100)
    return path


def absolute_data(folder: Path) -> Path:
    path = save_external(folder)
    set_location(path, str(folder / "m.data"))
    return path


def parent_data(folder: Path) -> Path:
    path = save_external(folder / "inner")
    (folder / "inner" / "m.data").rename(folder / "m.data")
    set_location(path, "../m.data")
    return path


def windows_data(folder: Path) -> Path:
    path = save_external(folder)
    set_location(path, "C:\\secret.data")
    return path


def linked_data(folder: Path) -> Path:
    path = save_external(folder / "inner")
    (folder / "inner" / "m.data").rename(folder / "m.data")
    (folder / "inner" / "m.data").symlink_to(folder / "m.data")
    return path


def hard_linked_data(folder: Path) -> Path:
    path = save_external(folder / "inner")
    (folder / "m.data").hardlink_to(folder / "inner" / "m.data")
    return path


def nonsense_offset(folder: Path) -> Path:
    path = save_external(folder)
    set_location(path, "m.data", offset="far")
    return path


def data_is_a_folder(folder: Path) -> Path:
    path = missing_data(folder)
    (folder / "m.data").mkdir()
    return path


FILES: list[tuple[Callable[[Path], Path], list[str]]] = [
    (no_such_file, ["no such file", "absent.onnx"]),
    (a_folder, ["is a folder"]),
    (missing_data, ["'W'", "'m.data'", "missing"]),
    (data_is_a_folder, ["'W'", "'m.data'", "missing"]),
    (short_data, ["'W'", "'m.data'", "truncated", "160", "100"]),
    (absolute_data, ["'W'", "outside the model's folder"]),
    (parent_data, ["'../m.data'", "outside the model's folder"]),
    (windows_data, ["secret.data", "outside the model's folder"]),
    (linked_data, ["'m.data'", "outside the model's folder"]),
    (hard_linked_data, ["'m.data'", "hard link", "copy"]),
    (nonsense_offset, ["'W'", "offset"]),
]


@pytest.mark.parametrize(("make", "said"), FILES, ids=[make.__name__ for make, _ in FILES])
def test_a_file_that_cannot_be_used_is_refused(make: Callable[[Path], Path], said: list[str], tmp_path: Path) -> None:
    text = refusal(make(tmp_path))
    assert [part for part in said if part not in text] == []


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(WHOLE)

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)  # root may read everything, so the mode would not do
    assert "Permission denied" in refusal(path)


@pytest.mark.parametrize("old", [b"X", b"Y", b"batch"])
def test_names_that_would_upset_a_terminal_are_refused(old: bytes) -> None:
    content = WHOLE.replace(old, b"\x1b" + old[1:])
    assert "not printable" in refusal(content)


def test_a_null_byte_in_a_path_is_refused() -> None:
    assert "no such file" in refusal("a\0b.onnx")


def test_a_file_over_two_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.onnx"
    path.touch()
    os.truncate(path, 2**31)  # sparse: takes no room on the disk
    assert "external data" in refusal(path)


def test_another_type_of_source_is_refused() -> None:
    assert "not int" in refusal(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("as_bytes", [True, False], ids=["bytes", "proto"])
def test_external_data_need_a_folder(as_bytes: bool, tmp_path: Path) -> None:
    proto = onnx.load(save_external(tmp_path), load_external_data=False)
    text = refusal(proto.SerializeToString() if as_bytes else proto)
    assert "'W'" in text
    assert "path of the .onnx file" in text


def external_tensor() -> onnx.TensorProto:
    tensor = numpy_helper.from_array(np.ones(3, np.float32), "hidden")
    onnx.external_data_helper.set_external_data(tensor, "hidden.data")
    tensor.ClearField("raw_data")
    return tensor


def in_attribute(proto: onnx.ModelProto) -> None:
    proto.graph.node.append(helper.make_node("Constant", [], ["c"], value=external_tensor()))


def in_subgraph(proto: onnx.ModelProto) -> None:
    branch = helper.make_graph([], "b", [], proto.graph.output, initializer=[external_tensor()])
    proto.graph.node.append(helper.make_node("If", ["X"], ["c"], then_branch=branch, else_branch=branch))


def in_function(proto: onnx.ModelProto) -> None:
    body = [helper.make_node("Constant", [], ["c"], value=external_tensor())]
    proto.functions.append(helper.make_function("own", "F", [], ["c"], body, proto.opset_import))


def in_sparse_initialiser(proto: onnx.ModelProto) -> None:
    indices = numpy_helper.from_array(np.arange(3), "i")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(external_tensor(), indices, [9]))


@pytest.mark.parametrize("hide", [in_attribute, in_subgraph, in_function, in_sparse_initialiser])
def test_external_data_are_found_wherever_they_hide(hide: Callable[[onnx.ModelProto], None], tmp_path: Path) -> None:
    proto = linear()
    hide(proto)
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    assert "'hidden.data'" in refusal(path)


# ---------------------------------------------------------------- whatever comes in


@given(cut=st.integers(0, len(WHOLE) - 1))
def test_no_truncated_model_opens(cut: int) -> None:
    with pytest.raises(BadModel):
        open_model(WHOLE[:cut])


@given(changes=st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_mutated_model_opens_or_is_refused_in_one_line(changes: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for place, byte in changes:
        data[place] = byte
    try:
        model = open_model(bytes(data))
    except BadModel as error:
        event("refused")
        lines = str(error).splitlines()
    else:
        event("opened")
        index_limits(model.proto)
        lines = [model.label]
    assert len(lines) == 1


@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BadModel):
        open_model(data)
