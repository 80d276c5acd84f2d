"""The noise that is remembered between races."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from onnxperf.measure.machine import noise

CPU = "Some CPU"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the noise, in a folder that does not exist yet."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "onnxperf" / "noise.json"


def test_what_is_remembered_is_recalled() -> None:
    noise.remember(0.008, CPU, "2026-01-02T03:04:05+00:00")
    known = noise.recall(CPU)
    assert known is not None
    assert (known.band, known.date) == (0.008, "2026-01-02T03:04:05+00:00")


def test_the_newest_noise_counts_and_leaves_no_drafts(cache: Path) -> None:
    noise.remember(0.05, CPU, "2026-01-01")
    noise.remember(0.01, CPU, "2026-01-02")
    known = noise.recall(CPU)
    assert known is not None
    assert known.band == 0.01
    assert [file.name for file in cache.parent.iterdir()] == ["noise.json"]


def test_the_noise_of_another_cpu_is_not_recalled() -> None:
    noise.remember(0.008, CPU, "2026-01-02")
    assert noise.recall("Another CPU") is None


def test_the_noise_of_another_host_is_not_recalled(monkeypatch: pytest.MonkeyPatch) -> None:
    noise.remember(0.008, CPU, "2026-01-02")
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    assert noise.recall(CPU) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"\xff\xfe", b'{"machine": "m"}', b'{"machine": 1, "band": 0.1, "date": ""}'],
    ids=["empty", "cut off", "no record", "no text", "fields missing", "wrong type"],
)
def test_a_damaged_file_is_as_good_as_none(content: bytes, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_bytes(content)
    assert noise.recall(CPU) is None


def test_the_noise_that_another_kind_of_race_found_is_not_recalled(cache: Path) -> None:
    noise.remember(0.008, CPU, "2026-01-02")
    record = msgspec.json.decode(cache.read_bytes())
    for old in ({**record, "race": 1}, {name: value for name, value in record.items() if name != "race"}):
        cache.write_bytes(msgspec.json.encode(old))
        assert noise.recall(CPU) is None


def test_a_cache_that_cannot_be_written_is_no_error(cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    noise.remember(0.008, CPU, "2026-01-02")
    assert noise.recall(CPU) is None
