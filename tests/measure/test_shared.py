"""Bytes in a file without a name, from one process to another."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Iterator
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra import numpy as hnp
from msgspec.structs import replace

from onnxperf.errors import WorkerLost
from onnxperf.measure import messages as ms
from onnxperf.measure import packing
from onnxperf.measure.memory import read_resident
from onnxperf.measure.messages import Compute, Load, Prepare, outputs_in
from onnxperf.measure.shared import CAN_SHARE, SharedBytes, read_file, receive_file, send_file, share
from tests.measure.processes import Workers
from tests.measure.test_messages import DTYPES, LAYOUTS, same

pytestmark = pytest.mark.skipif(not CAN_SHARE, reason="there, inputs travel through the pipe")

LARGE = 1 << 20
"""Bytes from which on an input is shared."""


@pytest.fixture
def start() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


def read(part: SharedBytes) -> bytes:
    """What another process would see."""
    return read_file(os.dup(part.file.handle)).tobytes()[part.start : part.start + part.size]


def open_files() -> int:
    gc.collect()
    return len(list(Path("/dev/fd").iterdir()))


# ---------------------------------------------------------------- a file


@pytest.mark.parametrize("layout", LAYOUTS)
@given(array=hnp.arrays(DTYPES, hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=5)))
def test_the_values_of_any_type_and_layout_are_written_in_c_order(layout: str, array: Any) -> None:
    laid_out = LAYOUTS[layout](array)
    (part,) = share([laid_out])
    assert read(part) == laid_out.tobytes()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ">f4", "?"])
def test_values_of_rare_types_are_written_as_they_are(dtype: Any) -> None:
    array = np.arange(-4, 4).astype(dtype).reshape(2, 4)
    (part,) = share([array])
    assert read(part) == array.tobytes()


def test_several_arrays_are_in_one_file_each_where_memory_would_be_aligned() -> None:
    arrays = [np.arange(size, dtype=np.int8) for size in (3, 64, 65, 1)]
    parts = share(arrays)
    assert len({part.file.handle for part in parts}) == 1
    assert [part.start % 64 for part in parts] == [0] * 4
    assert [read(part) for part in parts] == [array.tobytes() for array in arrays]


def test_an_array_of_several_pieces_is_whole() -> None:
    array = np.arange(2_500_000, dtype=np.int32).reshape(50, 50_000)[:, ::-1]
    (part,) = share([array])
    assert read(part) == array.tobytes()


@pytest.mark.parametrize("anonymous", [True, False], ids=["memory", "temporary file"])
def test_no_folder_lists_the_file(anonymous: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if not anonymous:
        monkeypatch.delattr(os, "memfd_create", raising=False)
    (part,) = share([np.ones(5000, np.uint8)])
    assert os.fstat(part.file.handle).st_nlink == 0
    assert list(tmp_path.iterdir()) == []
    assert read(part) == b"\1" * 5000


def test_the_file_is_closed_with_the_last_of_its_parts() -> None:
    before = open_files()
    first, second = share([np.ones(10), np.ones(20)])
    assert open_files() == before + 1
    del first
    assert open_files() == before + 1
    del second
    assert open_files() == before


def test_an_open_file_goes_through_a_pipe_between_two_messages() -> None:
    ours, theirs = Pipe()
    (part,) = share([np.arange(100)])
    ours.send_bytes(b"before")
    send_file(ours.fileno(), part.file.handle)
    ours.send_bytes(b"after")
    assert theirs.recv_bytes() == b"before"
    assert read_file(receive_file(theirs.fileno())).tobytes() == np.arange(100).tobytes()
    assert theirs.recv_bytes() == b"after"
    ours.close()
    with pytest.raises(EOFError):
        receive_file(theirs.fileno())
    theirs.close()


def test_a_file_that_is_read_is_complete_and_memory_of_its_own() -> None:
    (part,) = share([np.ones(5000, np.uint8)])
    one, other = (read_file(os.dup(part.file.handle)) for _ in range(2))
    one[:] = 7
    assert other.tolist() == [1] * 5000
    assert read(part) == b"\1" * 5000


# ---------------------------------------------------------------- inputs


def test_only_large_inputs_of_numbers_are_shared() -> None:
    packed = packing.pack_feeds(
        {
            "small": np.zeros(LARGE - 1, np.uint8),
            "large": np.zeros(LARGE, np.uint8),
            "texts": np.array(["text" * 10] * (LARGE // 10), object),
            "larger": np.zeros((2, LARGE)),
        }
    )
    assert [name for name, each in packed.items() if isinstance(each.data, SharedBytes)] == ["large", "larger"]
    assert {name: packed[name].nbytes for name in ("small", "large", "larger")} == {
        "small": LARGE - 1,
        "large": LARGE,
        "larger": 16 * LARGE,
    }
    assert len(packing.handles_in([packed, packed])) == 1


def test_inputs_travel_in_messages_where_there_is_no_room_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "memfd_create", full, raising=False)
    packed = packing.pack_feeds({"X": np.ones(LARGE, np.uint8)})
    assert packing.handles_in([packed]) == []
    assert same(packing.unpack_feeds(packed)["X"], np.ones(LARGE, np.uint8))


def test_a_message_is_small_whatever_the_size_of_its_inputs() -> None:
    spec = ms.WorkerSpec(subjects=(), threads=1, feeds=packing.pack_feeds({"X": np.zeros(50 * LARGE, np.uint8)}))
    assert len(ms.encode((1, Load(spec)))) < 1000


@pytest.mark.parametrize("layout", ["C", "Fortran", "every second", "reversed"])
def test_a_worker_gets_large_inputs_in_their_layout_and_in_order(start: Workers, layout: str) -> None:
    large = LAYOUTS[layout](np.arange(2 * LARGE, dtype=np.float32).reshape(1024, -1))
    small = np.arange(7)

    def describe(x: Any, y: Any, z: Any) -> list[Any]:
        return [np.array(x.strides), x, y, z]

    worker = start(describe, X=large, Y=small, Z=large[:512])
    worker.ask(Prepare(0))
    _, (strides, x, y, z) = outputs_in(worker.ask(Compute(0)))
    assert tuple(strides) == large.strides
    assert same(x, large)
    assert same(y, small)
    assert same(z, large[:512])


def adds_one() -> Any:
    def call(x: Any) -> Any:
        x += 1
        return np.array([x.min(), x.max()])

    return call


def test_a_subject_may_write_into_its_inputs_and_only_a_set_up_restores_them(start: Workers) -> None:
    x = np.zeros(LARGE, np.int32)
    worker, other = start(adds_one(), X=x), start(adds_one(), X=x)

    def outputs_after_prepare(each: Any) -> list[int]:
        each.ask(Prepare(0))
        return [int(value) for value in np.ravel(outputs_in(each.ask(Compute(0)))[1])]

    assert outputs_after_prepare(worker) == [2, 2]
    assert outputs_after_prepare(other) == [2, 2]
    worker.ask(Load(worker.spec))
    assert outputs_after_prepare(worker) == [2, 2]
    assert x.max() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads what is resident in /proc")
def test_a_worker_has_its_inputs_where_a_program_would_have_them(start: Workers) -> None:
    x = np.ones(64 * LARGE, np.uint8)

    def first(array: Any) -> Any:
        return array[:1]

    small, large = start(first, X=x[:10]), start(first, X=x)
    for worker in (small, large):
        worker.ask(Prepare(0))
    usual, here = read_resident(small.pid), read_resident(large.pid)
    assert here.file_bytes - usual.file_bytes < 0.2 * x.nbytes
    assert 0.9 * x.nbytes < here.anonymous_bytes - usual.anonymous_bytes < 1.2 * x.nbytes


def test_workers_one_after_the_other_get_the_same_file_and_a_killed_one_leaves_nothing(start: Workers) -> None:
    before = open_files()
    packed = packing.pack_feeds({"X": np.ones(LARGE, np.int32)})
    handles = packing.handles_in([packed])
    for _ in range(3):
        worker = start(adds_one())
        worker.ask(Load(replace(worker.spec, feeds=packed)))
        assert worker.ask(Prepare(0)).first_call_ns > 0
        assert packing.handles_in([packed]) == handles
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(WorkerLost):
            worker.ask(Prepare(0))
        worker.close()
    del packed, worker
    start.started.clear()
    assert open_files() == before
