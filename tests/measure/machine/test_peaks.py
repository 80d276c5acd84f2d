"""What a machine reached: measured by workers that only pretend, kept and recalled."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from onnxperf.measure.machine import peaks
from onnxperf.measure.messages import ModelSubject, MoveBytes, MovedBytes, WorkerSpec
from onnxperf.records.headroom import Bandwidth, Peaks
from tests.headrooms import PEAKS
from tests.measure.fakes import FakeMachine

CPU = "Some CPU"
MIB = 1 << 20


@pytest.fixture(autouse=True)
def cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peaks, "usable_cores", lambda: PEAKS.cores)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the peaks, in a folder that does not exist yet."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "onnxperf" / "peaks.json"


def spec(name: str) -> WorkerSpec:
    return WorkerSpec(subjects=(ModelSubject(name=name, call="run"),), threads=1, feeds={}, runtime="ort")


def test_the_best_product_of_each_kind_and_the_rate_of_each_size_are_the_peaks() -> None:
    machine = FakeMachine(call_ns={"large": 1_000_000, "small": 10_000, "int8": 20_000})
    machine.answers[MoveBytes] = lambda _worker, request: MovedBytes(
        [9.0] * len(request.sizes), [True] * len(request.sizes)
    )
    products = [
        peaks.Product(spec=spec("large"), operations=5e7, integers=False),
        peaks.Product(spec=spec("small"), operations=8e5, integers=False),
        peaks.Product(spec=spec("int8"), operations=3e6, integers=True),
    ]
    sizes = peaks.array_sizes(1, peaks.last_cache_bytes(), 1 << 33)
    found = peaks.measure(products, 1, machine.launch, (), 1 << 33)
    assert (found.threads, found.gflop_per_s, found.int8_gop_per_s) == (1, 80.0, 150.0)
    assert [each.size_bytes for each in found.bandwidths] == list(sizes)
    assert machine.all_closed
    assert found.disturbed  # these workers do not tell how long they waited


@pytest.mark.parametrize(
    ("threads", "cache", "free", "sizes"),
    [
        (1, 32 * MIB, 1 << 34, [MIB // 8 * 2**n for n in range(11)]),
        (2, 256 * MIB, 1 << 34, [MIB // 4 * 2**n for n in range(13)]),
        (1, 32 * MIB, 16 * MIB, [MIB // 8 * 2**n for n in range(6)]),
        (64, 0, 0, [8 * MIB, 8 * MIB + 1]),
    ],
)
def test_arrays_grow_from_a_cache_to_memory_and_leave_room_for_others(
    threads: int, cache: int, free: int, sizes: list[int]
) -> None:
    assert peaks.array_sizes(threads, cache, free) == tuple(sizes)


@pytest.mark.parametrize(
    ("texts", "size"),
    [(["32K", "1024K", "32768K"], 32 * MIB), (["2M"], 2 * MIB), (["many"], 32 * MIB), ([], 32 * MIB)],
)
def test_the_last_cache_is_what_the_system_says(tmp_path: Path, texts: list[str], size: int) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"index{number}").mkdir()
        (tmp_path / f"index{number}" / "size").write_text(f"{text}\n", encoding="ascii")
    assert peaks.last_cache_bytes(tmp_path) == size


def test_what_is_remembered_is_recalled_by_threads_and_version() -> None:
    two = replace(PEAKS, threads=2, gflop_per_s=190.0)
    peaks.remember(PEAKS, CPU)
    peaks.remember(two, CPU)
    assert peaks.recall(1, "1.31.1", CPU) == PEAKS
    assert peaks.recall(2, "1.31.1", CPU) == two
    assert peaks.recall(3, "1.31.1", CPU) is None
    assert peaks.recall(1, "1.30.0", CPU) is None
    assert peaks.recall(1, "1.31.1", "Another CPU") is None


def test_peaks_of_other_cores_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    confined = replace(PEAKS, cores=1, gflop_per_s=50.0)
    peaks.remember(PEAKS, CPU)
    peaks.remember(confined, CPU)
    assert peaks.recall(1, "1.31.1", CPU) == PEAKS
    monkeypatch.setattr(peaks, "usable_cores", lambda: 1)
    assert peaks.recall(1, "1.31.1", CPU) == confined


def test_a_disturbed_measurement_does_not_lower_what_was_reached_before(cache: Path) -> None:
    slower = replace(
        PEAKS,
        gflop_per_s=20.0,
        int8_gop_per_s=300.0,
        bandwidths=tuple(replace(each, gb_per_s=each.gb_per_s / 2) for each in PEAKS.bandwidths),
        date="2026-02-02",
    )
    peaks.remember(PEAKS, CPU)
    best = peaks.remember(slower, CPU)
    assert best == replace(PEAKS, int8_gop_per_s=300.0, date="2026-02-02")
    assert peaks.recall(1, "1.31.1", CPU) == best
    assert [file.name for file in cache.parent.iterdir()] == ["peaks.json"]


@pytest.mark.parametrize(
    ("before", "now", "disturbed"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_peaks_are_disturbed_until_one_measurement_is_not(before: bool, now: bool, disturbed: bool) -> None:
    peaks.remember(replace(PEAKS, disturbed=before), CPU)
    assert peaks.remember(replace(PEAKS, disturbed=now), CPU).disturbed == disturbed


def bandwidths(*rows: tuple[int, float]) -> tuple[Bandwidth, ...]:
    return tuple(Bandwidth(size_bytes=size, gb_per_s=rate) for size, rate in rows)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(PEAKS, gflop_per_s=0.0),
        replace(PEAKS, int8_gop_per_s=-1.0),
        replace(PEAKS, bandwidths=()),
        replace(PEAKS, bandwidths=bandwidths((10, 1.0), (10, 1.0))),
        replace(PEAKS, bandwidths=bandwidths((10, 0.0))),
    ],
)
def test_peaks_that_no_time_can_be_divided_by_are_not_recalled(wrong: Peaks) -> None:
    peaks.remember(wrong, CPU)
    assert peaks.recall(1, "1.31.1", CPU) is None


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\xff", msgspec.json.encode({"version": 0, "machine": "", "peaks": []})]
)
def test_a_damaged_file_is_as_good_as_none(cache: Path, content: bytes) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_bytes(content)
    assert peaks.recall(1, "1.31.1", CPU) is None


def test_a_home_that_cannot_be_written_is_no_error(cache: Path) -> None:
    cache.parent.parent.mkdir(exist_ok=True)
    cache.parent.write_text("a file where the folder should be", encoding="ascii")
    assert peaks.remember(PEAKS, CPU) == PEAKS
