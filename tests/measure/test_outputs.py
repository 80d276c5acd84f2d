"""What a subject computes arrives as it is, large values without a copy through the pipe."""

from __future__ import annotations

import errno
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onnxperf.measure.messages import Compute, Prepare
from onnxperf.measure.outputs import compute
from onnxperf.measure.packing import PackedList, PackedTensor, pack_value, unpack_value
from onnxperf.measure.shared import CAN_SHARE, SharedBytes, SharedFile, map_file, new_file, share
from tests.measure.processes import Workers
from tests.measure.test_messages import same

can_share = pytest.mark.skipif(not CAN_SHARE, reason="there, outputs travel through the pipe")


@pytest.fixture
def start() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


def everything() -> list[Any]:
    """Large and small, of all kinds."""
    import ml_dtypes
    import numpy as np

    large = np.arange(60_000, dtype=np.float32).reshape(200, 300)
    return [
        large,
        large[::-1, ::2].T,
        np.broadcast_to(np.int64(7), (50, 60)),
        np.arange(5000).astype(ml_dtypes.bfloat16),
        np.arange(2000, dtype=">i4"),
        np.float64(2.5),
        np.zeros((0, 3)),
        np.array(["a", "ä"] * 3000, object),
        np.array([b"a", None, 1, 2.5, True, 2**80], object),
        np.array(["longer", "x"]),
        np.array(["longer", "x"], np.dtypes.StringDType()),
        np.array(["2026-01-01", "NaT"], "M8[ns]"),
        np.array([(1, 2.5)], "i4,f4"),
    ]


def test_values_of_every_kind_arrive(start: Workers) -> None:
    worker = start(everything)
    worker.ask(Prepare(0))
    names, values = compute(worker, 0)
    expected = everything()
    assert names == []
    for got, wanted in zip(values[:7], expected[:7], strict=True):
        assert same(np.asarray(got), np.asarray(wanted).astype(np.asarray(wanted).dtype.newbyteorder("=")))
    assert values[3].dtype == ml_dtypes.bfloat16
    assert values[7].tolist() == expected[7].tolist()
    assert values[8].tolist() == ["a", None, 1, 2.5, True, str(2**80)]
    assert values[9].tolist() == values[10].tolist() == ["longer", "x"]
    assert same(values[11], expected[11])
    assert values[12].tobytes() == expected[12].tobytes()


def test_the_keys_of_a_map_are_texts_and_numbers() -> None:
    packed = pack_value([{True: 1.0, "a": np.int64(3), np.int64(2): None, (1, 2): 0.5}])
    assert unpack_value(packed) == [{"True": 1.0, "a": 3, 2: None, "(1, 2)": 0.5}]


@can_share
def test_large_values_are_not_in_the_message(start: Workers) -> None:
    worker = start(everything)
    worker.ask(Prepare(0))
    file = new_file()
    computed = worker.ask(Compute(0, file=file))
    assert isinstance(computed.value, PackedList)
    tensors = [each for each in computed.value.items if isinstance(each, PackedTensor)]
    assert [isinstance(each.data, SharedBytes) for each in tensors] == [True] * 5 + [False] * 8
    assert {each.data.file for each in tensors if isinstance(each.data, SharedBytes)} == {SharedFile(file.handle)}


@can_share
def test_every_call_has_a_file_of_its_own_that_goes_with_its_values(start: Workers) -> None:
    made: list[int] = []

    def numbers() -> Any:
        made.append(len(made))
        return np.full(10_000, len(made))

    worker = start(numbers)
    worker.ask(Prepare(0))
    gc.collect()
    before = len(list(Path("/dev/fd").iterdir()))
    (first,), (second,) = compute(worker, 0)[1], compute(worker, 0)[1]
    assert (int(first[0]), int(first[-1]), int(second[0])) == (2, 2, 3)
    del first, second
    gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) == before


@can_share
def test_a_file_that_is_read_cannot_be_cut_short_any_more() -> None:
    (part,) = share([np.arange(10_000)])
    mapped = map_file(part.file.handle)
    if hasattr(os, "memfd_create"):
        with pytest.raises(PermissionError):
            os.ftruncate(part.file.handle, 10)
    assert mapped[: part.size].tobytes() == np.arange(10_000).tobytes()
    assert map_file(new_file().handle).size == 0


def test_without_room_for_a_file_values_travel_in_the_message(start: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    worker = start(everything)
    worker.ask(Prepare(0))
    monkeypatch.setattr(os, "memfd_create", full, raising=False)
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    assert same(compute(worker, 0)[1][0], everything()[0])
