"""Instructions are counted by valgrind: what it is asked for, what it writes, and what is missing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure import instructions
from onnxperf.measure.instructions import CountTools, calls_of, command, count_instructions, counted_spec, total_in
from onnxperf.measure.messages import Counted, CountInstructions
from onnxperf.measure.worker.instructions import count
from onnxperf.records.options import SessionOptions
from tests.measure.fakes import FakeMachine, FakeWorker, lost, spec_of

TOOLS = CountTools("/usr/bin/valgrind", Path("callgrind.so"))


def written(total: int) -> str:
    """A file as callgrind writes it."""
    body = f"summary: {total - 5}\n\nfn=(1) main\n16 {total}\ntotals: {total}\n"
    return f"version: 1\ncmd: python\npart: 1\n\nevents: Ir\n{body}"


def writing(*totals: int) -> FakeMachine:
    """A machine whose worker writes these counts where its wrapper says."""

    def answer(worker: FakeWorker, _request: CountInstructions) -> Counted:
        for part, total in enumerate(totals, start=1):
            Path(f"{output_of(worker.spec.wrapper)}.{part}").write_text(written(total))
        return Counted("AVX2")

    return FakeMachine(answers={CountInstructions: answer})


def output_of(wrapper: tuple[str, ...]) -> str:
    return next(each.partition("=")[2] for each in wrapper if each.startswith("--callgrind-out-file="))


def test_a_count_is_that_of_the_calls_without_that_of_counting_and_leaves_nothing_behind() -> None:
    machine = writing(999, 1_000, 51_000)
    found = count_instructions(spec_of("ort", "run"), 1_000.0, TOOLS, machine.launch)
    assert (found.per_call, found.instruction_set) == (5_000.0, "AVX2")
    assert machine.all_closed
    assert not Path(output_of(machine.workers[0].spec.wrapper)).parent.exists()


def test_a_worker_that_is_lost_leaves_no_folder_behind() -> None:
    machine = FakeMachine(troubles={("prepare", "run", 0): lost("timeout")})
    with pytest.raises(SubjectError, match="timeout"):
        count_instructions(spec_of("ort", "run"), 1_000.0, TOOLS, machine.launch)
    assert machine.all_closed
    assert not Path(output_of(machine.workers[0].spec.wrapper)).parent.exists()


def test_valgrind_is_called_without_the_settings_of_the_user_and_counts_nothing_before_it_is_asked() -> None:
    asked = command("/bin/valgrind", Path("/tmp/100%"))
    assert asked[0] == "/bin/valgrind"
    assert {"--command-line-only=yes", "--tool=callgrind", "--instr-atstart=no", "--vgdb=no"} <= {*asked}
    assert asked[-1] == "--callgrind-out-file=/tmp/100%%/counts"


@pytest.mark.parametrize(("runtime", "spins"), [("ort", "0"), ("numpy", None)])
def test_what_is_counted_has_one_thread_and_does_not_spin(runtime: str, spins: str | None) -> None:
    spec = counted_spec(spec_of(runtime, "run"), ("valgrind",))
    assert (spec.threads, spec.session.threads, spec.session.inter_op_threads) == (1, 1, 1)
    assert spec.session.options.get("session.intra_op.allow_spinning") == spins
    assert counted_spec(spec, ()).session != SessionOptions()


@pytest.mark.parametrize(
    ("call_ns", "calls", "warm"), [(0.0, 10, 3), (10_000.0, 10, 3), (2e6, 2, 2), (5e6, 1, 1), (1e9, 1, 1)]
)
def test_of_long_calls_fewer_are_counted(call_ns: float, calls: int, warm: int) -> None:
    assert calls_of(call_ns) == (calls, warm)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        (written(1_806_507), 1_806_507),
        ("events: Ir\ntotals: 0\n", 0),
        ("events: Dr Ir Dw\ntotals: 1 22 3\n", 22),
        ("events: Ir\nfn=(7) caf\udce9\ntotals: 5\n", 5),
    ],
)
def test_the_total_of_a_file_of_callgrind_is_read(tmp_path: Path, text: str, total: int) -> None:
    file = tmp_path / "counts.1"
    file.write_text(text, errors="surrogateescape")
    assert total_in(file) == total


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("", "no total"),
        ("events: Ir\nsummary: 5\n", "no total"),
        ("totals: 5\n", "cannot be read"),
        ("events: Dr\ntotals: 5\n", "cannot be read"),
        ("events: Ir\ntotals: many\n", "cannot be read"),
        ("events: Ir\ntotals:\n", "cannot be read"),
    ],
)
def test_a_file_without_a_total_is_one_line(tmp_path: Path, text: str | None, message: str) -> None:
    file = tmp_path / "counts.1"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SubjectError, match=message):
        total_in(file)


def test_the_worker_dumps_after_warm_calls_after_none_and_after_those_that_count() -> None:
    events: list[str] = []
    count(lambda: events.append("call"), 3, 2, lambda: events.append("dump"))
    assert events == ["call"] * 2 + ["dump"] * 2 + ["call"] * 3 + ["dump"]


# ---------------------------------------------------------------- what it needs


def installed(*programs: str) -> Callable[[str], str | None]:
    return lambda name: f"/opt/{name}" if name in programs else None


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ((), "valgrind is not installed .*apt-get install valgrind"),
        (("gcc",), "valgrind is not installed .*apt-get install valgrind"),
        (("valgrind",), "a C compiler is not installed .*apt-get install gcc"),
    ],
)
def test_what_is_missing_is_one_line_that_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, programs: tuple[str, ...], message: str
) -> None:
    monkeypatch.setattr(instructions, "find_program", installed(*programs))
    with pytest.raises(BadInput, match=message):
        instructions.find_tools()


def test_the_requests_are_compiled_once_for_each_compiler_and_kept(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    commands: list[list[str]] = []

    def compiled(command: list[str], **_keywords: Any) -> None:
        commands.append(command)
        Path(command[command.index("-o") + 1]).write_bytes(b"library")

    monkeypatch.setattr(subprocess, "run", compiled)
    for compiler in ("gcc", "gcc", "clang"):
        monkeypatch.setattr(instructions, "find_program", installed("valgrind", compiler))
        tools = instructions.find_tools()
        assert tools.valgrind == "/opt/valgrind"
        assert tools.library.read_bytes() == b"library"
    assert [each[0] for each in commands] == ["/opt/gcc", "/opt/clang"]
    assert {file.suffix for file in (own_cache / "onnxperf" / "valgrind").iterdir()} == {".so"}


def test_what_the_compiler_complains_about_is_one_line(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    def failing(command: list[str], **_keywords: Any) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="callgrind.c:1: error:\n  no headers\n")

    monkeypatch.setattr(subprocess, "run", failing)
    monkeypatch.setattr(instructions, "find_program", installed("valgrind", "cc"))
    with pytest.raises(BadInput, match=r"^/opt/cc cannot compile callgrind.c: callgrind.c:1: error: no headers; "):
        instructions.find_tools()
