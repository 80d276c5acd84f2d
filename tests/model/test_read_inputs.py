"""Arrays from files, and how a wrong file is refused."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
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


def write_header(file: Path, header: bytes, values: bytes = b"") -> None:
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values)


def header_of(shape: str, descr: str = "'<f4'") -> bytes:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}".encode()


def write_huge(file: Path) -> None:
    write_header(file, header_of("(1099511627776, 1024)"))


def write_negative(file: Path) -> None:
    write_header(file, header_of("(-1,)"), bytes(8))


def write_without_size(file: Path) -> None:
    write_header(file, header_of("(4611686018427387904,)", "'V0'"))


def write_high_rank(file: Path) -> None:
    write_header(file, header_of(f"({'1,' * 70})"), bytes(4))


def write_nested(file: Path) -> None:
    write_header(file, b"(" * 5000)


def write_code(file: Path) -> None:
    write_header(file, b"__import__('os').abort()")


def write_newer(file: Path) -> None:
    file.write_bytes(b"\x93NUMPY\x03\x00" + bytes(20))


def write_bomb(file: Path) -> None:
    """Sixteen TiB of zeros by its headers; the data behind them are not that long."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00\x76\x00" + header_of("(1, 4398046511104)").ljust(118))
    data = bytearray(file.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (2**32 - 2).to_bytes(4, "little")
    file.write_bytes(data)


def write_encrypted(file: Path) -> None:
    write_npz(file)
    data = bytearray(file.read_bytes())
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + place] |= 1
    file.write_bytes(data)


def write_odd_compression(file: Path) -> None:
    write_npz(file)
    data = bytearray(file.read_bytes())
    for magic, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        data[data.index(magic) + place] = 99
    file.write_bytes(data)


def write_flipped(file: Path) -> None:
    write_npz(file)
    data = bytearray(file.read_bytes())
    data[data.index(ARRAY.tobytes())] ^= 1
    file.write_bytes(data)


def write_huge_tensor(file: Path) -> None:
    file.write_bytes(TensorProto(data_type=TensorProto.INT4, dims=[2**40], raw_data=b"12").SerializeToString())


def write_negative_tensor(file: Path) -> None:
    file.write_bytes(TensorProto(data_type=1, dims=[-1], raw_data=b"1234").SerializeToString())


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
    ("a.npy", write_huge, "declares 4504 TB of values, but it contains"),
    ("a.npy", write_negative, "negative"),
    ("a.npy", write_without_size, "truncated or damaged"),
    ("a.npy", write_high_rank, "truncated or damaged"),
    ("a.npy", write_nested, "truncated or damaged"),
    ("a.npy", write_code, "truncated or damaged"),
    ("a.npy", write_newer, r"version 3\.0"),
    ("a.npz", write_bomb, "its header declares 17.6 TB"),
    ("a.npz", write_encrypted, "truncated or damaged"),
    ("a.npz", write_odd_compression, "truncated or damaged"),
    ("a.npz", write_flipped, "truncated or damaged: Bad CRC-32"),
    ("a.pb", write_huge_tensor, "declare 1,099,511,627,776 values"),
    ("a.pb", write_negative_tensor, "negative"),
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
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i8", ">i2", "?", "<U3", "<c8"])
def test_every_order_and_byte_order_is_read_as_the_machine_has_it(dtype: str, order: str, tmp_path: Path) -> None:
    array = np.asarray(ARRAY.astype(dtype), order=order)  # type: ignore[call-overload]
    np.save(tmp_path / "a.npy", array)
    found = read_inputs({"X": tmp_path / "a.npy"})["X"]
    np.testing.assert_array_equal(found, array)
    assert found.dtype.isnative


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_an_array_of_one_value_or_none_is_read(shape: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(shape))
    assert read_inputs({"X": tmp_path / "a.npy"})["X"].shape == shape


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


def valid_files() -> dict[str, bytes]:
    """One file of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        for name, write in (("a.npy", write_npy), ("a.npz", write_npz), ("a.pb", write_pb)):
            write(Path(folder, name))
        return {path.suffix: path.read_bytes() for path in Path(folder).iterdir()}


VALID = valid_files()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suffix=st.sampled_from(sorted(VALID)),
    changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6),
    end=st.integers(0, 10_000),
)
def test_damaged_files_are_read_or_refused_in_one_line(
    suffix: str, changes: list[tuple[int, int]], end: int, tmp_path: Path
) -> None:
    data = bytearray(VALID[suffix])
    for place, value in changes:
        data[place % len(data)] = value
    file = tmp_path / f"a{suffix}"
    file.write_bytes(data[: end if end > 5_000 else end % (len(data) + 1)])
    try:
        found = read_inputs({"X": file})["X"]
    except BadFeed as error:
        refusal = str(error)
    else:
        refusal = ""
        assert isinstance(found, np.ndarray)
    assert "\n" not in refusal
    assert len(refusal) < 600
