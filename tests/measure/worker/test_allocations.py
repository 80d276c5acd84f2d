"""What memray writes in a worker, and what becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from onnxperf.errors import MissingExtra, SubjectError
from onnxperf.measure.worker import allocations

_TRACKING = """
import sys
from pathlib import Path
from onnxperf.measure.worker.allocations import track

def take():
    return bytearray(3_000_000)

track(take, 5, Path(sys.argv[1]))
"""


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """memray works best in a process of its own, as our workers are."""
    pytest.importorskip("memray")
    folder = tmp_path_factory.mktemp("memray")
    (folder / "taking.py").write_text(_TRACKING)
    subprocess.run([sys.executable, str(folder / "taking.py"), str(folder / "out.bin")], check=True)
    return folder / "out.bin"


def test_peak_sum_and_number_are_listed_by_line(tracked: Path) -> None:
    found = allocations.read(tracked, 5, lambda path: Path(path).name)
    top = found.allocators[0]
    assert (top.function, top.file, top.line, top.count) == ("take", "taking.py", 7, 5)
    assert 15_000_000 <= top.total_bytes <= found.total_bytes < 15_500_000
    assert 3_000_000 <= top.peak_bytes <= found.peak_bytes < 6_500_000
    assert found.count == sum(each.count for each in found.allocators)


def test_frames_of_the_worker_are_left_out(tracked: Path) -> None:
    found = allocations.read(tracked, 5, lambda path: path)
    assert not any(each.file.endswith("allocations.py") for each in found.allocators)


@pytest.mark.parametrize(
    ("stack", "inside"),
    [
        ([("f", "a.py", 1), ("call_again", allocations.__file__, 9), ("main", "w.py", 3)], [("f", "a.py", 1)]),
        ([("call_again", "a.py", 1), ("call_again", allocations.__file__, 9)], [("call_again", "a.py", 1)]),
        ([("__enter__", "m.py", 1), ("track", allocations.__file__, 2)], []),
        ([("run", "threading.py", 1)], [("run", "threading.py", 1)]),
        ([], []),
    ],
)
def test_a_stack_ends_where_the_calls_are_made(stack: list[allocations.Place], inside: list[allocations.Place]) -> None:
    assert allocations.inside_calls(stack) == inside


def test_a_file_that_memray_did_not_write_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("memray")
    (tmp_path / "no.bin").write_bytes(b"nothing")
    with pytest.raises(SubjectError, match="memray's file cannot be read"):
        allocations.read(tmp_path / "no.bin", 1, str)


def test_a_place_where_memray_cannot_write_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("memray")
    with pytest.raises(SubjectError, match="memray cannot run here"):
        allocations.track(lambda: None, 1, tmp_path / "no" / "folder.bin")


def test_without_memray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memray", None)
    with pytest.raises(MissingExtra, match=r"memray is not installed.*\[stack\]"):
        allocations.require_memray()
