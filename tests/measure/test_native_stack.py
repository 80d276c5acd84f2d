"""py-spy is started, waited for, and its complaints are passed on: with a script in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxperf.errors import MissingExtra, SubjectError
from onnxperf.measure import native_stack

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the script in py-spy's place is one of Unix")

Spy = Callable[[str], Path]


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spy:
    """Puts a script in py-spy's place; returns the file that it should write."""

    def replace_by(script: str) -> Path:
        program = tmp_path / "py-spy"
        program.write_text(f"#!{sys.executable}\nimport os, signal, sys\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(native_stack, "find_py_spy", lambda: str(program))
        return tmp_path / "samples.raw"

    return replace_by


def record(output: Path) -> None:
    native_stack.record(42, lambda: None, output, 2.2, 300)


def test_py_spy_is_asked_for_raw_samples_with_compiled_frames_of_this_process(spy: Spy) -> None:
    output = spy("open(sys.argv[sys.argv.index('--output') + 1], 'w').write(' '.join(sys.argv[1:]))")
    record(output)
    asked = output.read_text()
    assert asked.startswith("record --native --idle --format raw --output ")
    assert asked.endswith("--duration 2 --rate 300 --pid 42")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "sys.exit('12 lines of symbols\\nError: Permission Denied\\nReason: run as root')",
            "py-spy: Error: Permission Denied Reason: run as root",
        ),
        ("sys.exit(3)", "py-spy: it exited without a message"),
        ("", "py-spy: it exited without a message"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "py-spy was killed by SIGKILL"),
    ],
)
def test_what_goes_wrong_is_reported_in_one_line(spy: Spy, script: str, message: str) -> None:
    with pytest.raises(SubjectError) as raised:
        record(spy(script))
    assert str(raised.value) == message


def test_a_py_spy_that_does_not_end_is_ended(spy: Spy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_stack, "GRACE_S", -10.0)
    output = spy("signal.pause()")
    with pytest.raises(SubjectError, match="did not end within"):
        record(output)


def test_the_process_is_kept_busy_until_py_spy_ends(spy: Spy, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    output = spy(
        f"while not os.path.exists({str(gate)!r}): pass\nopen({str(tmp_path / 'samples.raw')!r}, 'w').write('')"
    )
    native_stack.record(42, gate.touch, output, 1.0, 100)
    assert gate.exists()


def test_without_py_spy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxperf.measure.native_stack.find_program", lambda *_args: None)
    with pytest.raises(MissingExtra, match=r"py-spy is not installed.*\[stack\]"):
        native_stack.find_py_spy()
