"""Arrays from files, and how a wrong file is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnxperf.errors import BadFeed
from onnxperf.model.files import read_inputs

ARRAY = np.arange(6, dtype=np.float32).reshape(2, 3)


def write_npy(file: Path) -> None:
    np.save(file, ARRAY)


def write_npz(file: Path) -> None:
    np.savez(file, only=ARRAY)


def write_pb(file: Path) -> None:
    file.write_bytes(numpy_helper.from_array(ARRAY).SerializeToString())


@pytest.mark.parametrize(("name", "write"), [("a.npy", write_npy), ("a.NPZ", write_npz), ("a.pb", write_pb)])
def test_an_array_is_read(name: str, write: Callable[[Path], None], tmp_path: Path) -> None:
    write(tmp_path / "a.npz" if name == "a.NPZ" else tmp_path / name)
    if name == "a.NPZ":
        (tmp_path / "a.npz").rename(tmp_path / name)
    found = read_inputs({"X": str(tmp_path / name)})
    assert list(found) == ["X"]
    np.testing.assert_array_equal(found["X"], ARRAY)


def write_pickled(file: Path) -> None:
    np.save(file, np.array([{}], dtype=object), allow_pickle=True)


def write_pickled_archive(file: Path) -> None:
    np.savez(file, a=np.array([{}], dtype=object))


def write_two(file: Path) -> None:
    np.savez(file, a=ARRAY, b=ARRAY)


def write_text(file: Path) -> None:
    file.write_text("hello")


def write_nothing(file: Path) -> None:
    file.touch()


def write_half(file: Path) -> None:
    write_npy(file)
    file.write_bytes(file.read_bytes()[:-5])


def write_external(file: Path) -> None:
    tensor = TensorProto(data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/passwd")
    file.write_bytes(tensor.SerializeToString())


def write_short_tensor(file: Path) -> None:
    file.write_bytes(TensorProto(data_type=1, dims=[2], raw_data=b"12").SerializeToString())


def write_unknown_type(file: Path) -> None:
    file.write_bytes(TensorProto(data_type=99, dims=[1], raw_data=b"12").SerializeToString())


def write_model(file: Path) -> None:
    file.write_bytes(helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString())


def write_folder(file: Path) -> None:
    file.mkdir()


def write_not_at_all(_: Path) -> None:
    pass


REFUSALS: list[tuple[str, Callable[[Path], None], str]] = [
    ("a.npy", write_not_at_all, "does not exist"),
    ("a.npy", write_folder, "folder"),
    ("a.csv", write_text, r"\.npy, \.npz, \.pb"),
    ("a.npy", write_text, "not a .npy file"),
    ("a.npy", write_nothing, "not a .npy file"),
    ("a.npy", write_half, "truncated or damaged"),
    ("a.npy", write_pickled, "pickled"),
    ("a.npz", write_pickled_archive, "pickled"),
    ("a.npz", write_two, r"2 arrays \(a, b\)"),
    ("a.npz", write_text, "not a .npz file"),
    ("a.pb", write_text, "truncated or damaged"),
    ("a.pb", write_nothing, "not a tensor"),
    ("a.pb", write_external, "another file"),
    ("a.pb", write_short_tensor, "truncated or damaged"),
    ("a.pb", write_unknown_type, "truncated or damaged"),
    ("a.pb", write_model, "'X'"),
]


@pytest.mark.parametrize(("name", "write", "said"), REFUSALS, ids=[f"{w.__name__} {n}" for n, w, _ in REFUSALS])
def test_a_wrong_file_gets_one_line(name: str, write: Callable[[Path], None], said: str, tmp_path: Path) -> None:
    write(tmp_path / name)
    with pytest.raises(BadFeed, match=said) as caught:
        read_inputs({"X": tmp_path / name})
    assert "\n" not in str(caught.value)


@given(tail=st.binary(max_size=150), suffix=st.sampled_from([".npy", ".npz", ".pb"]), with_magic=st.booleans())
def test_arbitrary_contents_are_read_or_refused(
    tail: bytes, suffix: str, with_magic: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("any") / f"a{suffix}"
    file.write_bytes((b"\x93NUMPY\x01\x00" if with_magic else b"") + tail)
    try:
        found = read_inputs({"X": file})
    except BadFeed:
        return
    assert isinstance(found["X"], np.ndarray)
