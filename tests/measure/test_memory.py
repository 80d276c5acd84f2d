"""What the kernel says about memory, and what a step needed."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from onnxperf.measure import memory, weighing
from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, resident_bytes, trim

MB = 1 << 20
pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel of Linux")


def spike(size: int) -> None:
    """Touch memory, and give it back at once."""
    with mmap.mmap(-1, size) as area:
        area.write(b"x" * size)


@pytest.mark.parametrize("size", [32 * MB, 128 * MB])
def test_a_peak_that_is_over_is_still_known(size: int) -> None:
    before = read_resident().total_bytes
    assert reset_peak()
    np.ones(size, np.uint8)
    peak = peak_bytes()
    assert peak is not None
    assert peak - before == pytest.approx(size, abs=4 * MB)
    assert read_resident().total_bytes - before < 4 * MB


def test_a_reset_forgets_an_earlier_peak() -> None:
    spike(128 * MB)
    assert reset_peak()
    peak = peak_bytes()
    assert peak is not None
    assert peak == pytest.approx(read_resident().total_bytes, abs=8 * MB)


def test_arrays_are_anonymous_and_mapped_files_are_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(64 * MB))
    before = read_resident()
    mapped = np.memmap(path, np.uint8, "r")
    assert mapped.sum() == 0
    with_file = read_resident()
    kept = np.ones(64 * MB, np.uint8)
    after = read_resident()
    assert with_file.file_bytes - before.file_bytes == pytest.approx(64 * MB, abs=4 * MB)
    assert after.anonymous_bytes - with_file.anonymous_bytes == pytest.approx(kept.nbytes, abs=4 * MB)


def test_what_another_process_has_is_known_until_it_ends() -> None:
    import os

    assert resident_bytes(os.getpid()) == pytest.approx(read_resident().total_bytes, abs=4 * MB)
    assert resident_bytes(2**22 - 1) == 0


def test_trimming_gives_back_what_is_free() -> None:
    pieces = [bytes(100_000) for _ in range(1000)]
    keep = pieces[::100]
    full = read_resident().anonymous_bytes
    del pieces
    trim()
    assert full - read_resident().anonymous_bytes > 50 * MB
    assert len(keep) == 10


def test_without_the_kernels_help_there_is_no_peak_and_psutil_tells_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_status", lambda _pid: {})
    assert not reset_peak()
    assert peak_bytes() is None
    assert read_resident().anonymous_bytes > MB
    assert read_resident().file_bytes == 0


def test_a_step_is_weighed_with_its_peak_and_without_what_it_returned() -> None:
    def step() -> list[np.ndarray]:
        np.ones(96 * MB, np.uint8)
        return [np.ones(32 * MB, np.uint8)]

    marks, size = weighing.weigh(step, 2)
    assert size == 32 * MB
    for mark in marks:
        assert mark.peak_bytes is not None
        assert mark.peak_bytes - mark.before.total_bytes == pytest.approx(96 * MB, abs=4 * MB)
        assert mark.after.total_bytes - mark.before.total_bytes < 4 * MB
        assert mark.duration_ns > 0


def test_what_a_step_keeps_is_there_afterwards() -> None:
    kept: list[np.ndarray] = []
    marks, _ = weighing.weigh(lambda: kept.append(np.ones(48 * MB, np.uint8)), 1)
    assert marks[0].after.anonymous_bytes - marks[0].before.anonymous_bytes == pytest.approx(48 * MB, abs=4 * MB)


def test_calls_that_keep_memory_grow() -> None:
    kept: list[np.ndarray] = []
    before = weighing.grow(lambda: None, 1).resident.anonymous_bytes
    grown = weighing.grow(lambda: kept.append(np.ones(MB, np.uint8)), 50)
    assert grown.resident.anonymous_bytes - before == pytest.approx(50 * MB, abs=4 * MB)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros(10, np.float32), 40),
        ([np.zeros(2, np.int64), (np.zeros(3, np.int8), None)], 19),
        ({"a": np.zeros(5, np.float64), "b": [1, "text"]}, 40),
        (None, 0),
    ],
)
def test_the_size_of_a_result_is_that_of_its_arrays(value: object, size: int) -> None:
    assert weighing.size_of(value) == size
