"""From a measurement to the exit code, with a toy in place of a measurement."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onnxperf.caller import Caller, called_by, with_command
from onnxperf.cli.main import app, run
from onnxperf.cli.present import Output, present
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.results.formats import COMMON, Format
from tests.results.toys import PLAIN, TOY, Plain, PlainResult, Toy, ToyResult


def never(_progress: object) -> Any:
    """A measurement that must not begin."""
    pytest.fail("refused too late")


def shown(record: Toy, output: Output) -> int:
    return present(TOY, output, lambda _progress: ToyResult(record))


def refusal(output: Output, kind: Any = TOY) -> str:
    with pytest.raises(BadOption) as refused:
        present(kind, output, never)
    return str(refused.value)


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("record", "code"),
    [
        (Toy(), 0),
        (Toy(status="failed"), 1),
        (Toy(status="differs"), 1),
        (Toy(status="oom", decided=False), 1),
        (Toy(decided=False), 3),
        (Toy(interrupted=True), 130),
        (Toy(status="failed", interrupted=True), 130),
    ],
)
def test_the_exit_code_says_how_a_measurement_ended(record: Toy, code: int) -> None:
    assert shown(record, Output(quiet=True)) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadOption("no"), 2),
        (FileNotWritten("cannot write x"), 3),
        (ValueError("bug"), 70),
        (ZeroDivisionError("in a record"), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_becomes_one_line_and_an_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise error

    app.command(fails, name="fails-in-a-test")
    try:
        assert run(["fails-in-a-test"]) == code
    finally:
        del app["fails-in-a-test"]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_an_unknown_option_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", "m.onnx", "--no-such-option"]) == 2
    assert capsys.readouterr().err.startswith("onnxperf: ")


COMMAND = """
import signal
import sys

from onnxperf.cli import main
from onnxperf.cli.present import Output, present
from tests.results.toys import TOY, Toy, ToyResult

# Tests may run below nohup, or in the background of a shell, where these are ignored.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def measure(progress):
    try:
        print("measuring", file=sys.stderr, flush=True)
        while True:
            signal.pause()
    except KeyboardInterrupt:
        if ends == "raises":
            raise
        return ToyResult(Toy(interrupted=True))


def wait():
    return present(TOY, Output(), measure)


ends = sys.argv.pop()
main.app.command(wait)
main.main()
"""


@pytest.mark.skipif(not hasattr(signal, "pause"), reason="signals of Unix")
@pytest.mark.parametrize("ends", ["returns", "raises"])
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_process_with_its_own_code_after_what_was_measured_is_shown(
    name: str, code: int, ends: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "wait", ends],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "measuring\n"
        process.send_signal(getattr(signal, name))
        printed, complaints = process.communicate(timeout=60)
    assert process.returncode == code
    assert ("It rolls." in printed) == (ends == "returns")
    assert complaints == ("" if ends == "returns" else f"onnxperf: interrupted by {name}; nothing to show\n")


# ---------------------------------------------------------------- files


def test_every_file_is_written_and_the_page_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(tmp_path / f"out{suffix}") for suffix in TOY.formats()]
    assert shown(Toy(), Output(output=paths)) == 0
    assert all(Path(path).stat().st_size for path in paths)
    assert "wheel" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_result: object, _table: object) -> bytes:
        raise FileNotWritten("cannot write: no space left")

    monkeypatch.setitem(COMMON, ".md", Format("the page", full, "page"))
    lost = tmp_path / "folder"
    output = Output(
        output=[str(tmp_path / "a.md"), str(lost / "b.json"), str(tmp_path / "c.csv")], json=str(tmp_path / "d.txt")
    )
    lost.mkdir()

    def measure(_progress: object) -> ToyResult:
        lost.rmdir()  # what could be written before is gone after
        return ToyResult(Toy())

    assert present(TOY, output, measure) == 3
    assert (tmp_path / "c.csv").exists()
    assert json.loads((tmp_path / "d.txt").read_bytes())["answer"] == "It rolls."
    captured = capsys.readouterr()
    assert "It rolls." in captured.out
    assert [line.partition(":")[0] for line in captured.err.splitlines()] == ["onnxperf", "onnxperf"]
    assert "no space left" in captured.err
    assert "b.json: No such file" in captured.err


def test_a_model_that_could_not_be_written_is_no_answer_and_its_result_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    result = ToyResult(Toy())
    result.unwritten = "int8.onnx"
    assert present(TOY, Output(), lambda _progress: result) == 3
    assert "It rolls." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("record", "code"), [(Toy(), 3), (Toy(status="failed"), 3), (Toy(decided=False), 3), (Toy(interrupted=True), 130)]
)
def test_a_missing_file_is_no_answer_unless_the_run_was_interrupted(
    record: Toy, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_result: object, _table: object) -> bytes:
        raise FileNotWritten("no space left")

    monkeypatch.setitem(COMMON, ".md", Format("the page", full, "page"))
    assert shown(record, Output(output=[str(tmp_path / "a.md")], quiet=True)) == code


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            Output(output=["a.pdf"]),
            "`output=a.pdf`: expected a name that ends with .csv, .html, .json, .md, .parquet, .png, .svg, .toy, .xlsx",
        ),
        (Output(output=["-"]), "-o -: add the format, such as -o -.json"),
        (Output(output=["no/a.json"]), "cannot write no/a.json: its folder does not exist"),
        (Output(json="no/a"), "cannot write no/a: its folder does not exist"),
        (Output(json="."), "cannot write .: it is a folder"),
        (Output(table="wheels"), "unknown table 'wheels'; choose from: parts, names"),
        (Output(json="-", output=["-.csv"]), "only one file can go to standard output"),
        (Output(output=["-.md", "-.csv"]), "only one file can go to standard output"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is_measured(output: Output, message: str) -> None:
    assert message in refusal(output)


def test_a_format_that_a_result_lacks_is_refused() -> None:
    message = refusal(Output(output=["-.csv"]), PLAIN)
    assert message == "`output=-.csv`: expected a name that ends with .html, .json, .md"


@pytest.mark.parametrize("suffix", [".png", ".xlsx", ".parquet"])
def test_a_binary_format_is_not_for_a_terminal(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert refusal(Output(output=[f"-{suffix}"])) == (
        f"-o -{suffix}: {suffix} is binary; redirect standard output, or write to a file"
    )


def test_a_file_may_be_called_like_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert present(TOY, Output(output=["./-.csv"]), lambda _: ToyResult(Toy())) == 0
    assert Path("-.csv").read_text()


def test_a_library_that_is_missing_is_named_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(Exception, match="xlsxwriter is not installed"):
        present(TOY, Output(output=["a.xlsx"]), never)


@pytest.mark.parametrize(
    ("output", "suffix"),
    [(Output(json="-"), ".json"), (Output(output=["-.csv"]), ".csv"), (Output(output=["-.md"]), ".md")],
)
def test_standard_output_belongs_to_the_one_file_that_is_written_there(
    output: Output, suffix: str, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    result = ToyResult(Toy(command="onnxperf toy"))
    monkeypatch.setattr(sys, "argv", ["onnxperf", "toy"])
    assert present(TOY, output, lambda _progress: result) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == result.encode(suffix)
    assert b"wheel" in captured.err


def test_a_new_format_is_known_to_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(COMMON, ".new", Format("a table", lambda result, _table: b"new", "table"))
    assert shown(Toy(), Output(output=[str(tmp_path / "a.new")], quiet=True)) == 0
    assert (tmp_path / "a.new").read_bytes() == b"new"
    assert ".new" in refusal(Output(output=["a.pdf"]))


# ---------------------------------------------------------------- what is shown and kept


def test_quiet_prints_only_the_answer_with_options_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(Toy(answer="It rolls.\nUse `time=45`\x1b[31m."), Output(quiet=True)) == 0
    assert capsys.readouterr().out == "It rolls.\nUse --time 45\\x1b[31m.\n"


def test_a_page_of_the_command_comes_before_that_of_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    present(PLAIN, Output(), lambda _progress: PlainResult(Plain("yes")), page=lambda _result: [])
    assert capsys.readouterr().out == ""


def test_the_record_holds_the_command_that_made_it() -> None:
    with called_by(Caller("onnxperf toy 'my model.onnx'")):
        assert with_command(ToyResult(Toy())).record.command == "onnxperf toy 'my model.onnx'"
    assert with_command(ToyResult(Toy())).record.command == ""


# ---------------------------------------------------------------- standard output that fails


def piped(tmp_path: Path, *, closed: bool, **environment: str) -> tuple[int, str, Path]:
    """Exit code and stderr of a command whose standard output has no reader, or is closed, and its file."""
    script = (
        "import sys; from onnxperf.cli import main; from onnxperf.cli.present import Output, present;"
        "from tests.results.toys import TOY, Toy, ToyResult;"
        f"main.app.command(lambda: present(TOY, Output(output=[{str(tmp_path / 'a.json')!r}]),"
        "lambda _: ToyResult(Toy(answer='It takes 3 µs…'))), name='x'); sys.argv[1:] = ['x']; main.main()"
    )
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", script],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        preexec_fn=partial(os.close, 1) if closed else None,
        check=False,
    )
    os.close(writer)
    return done.returncode, done.stderr, tmp_path / "a.json"


@pytest.mark.skipif(os.name != "posix", reason="pipes of Unix")
@pytest.mark.parametrize(("closed", "code"), [(False, 141), (True, 0)], ids=["| head", ">&-"])
def test_a_closed_standard_output_is_a_quiet_end_and_costs_no_file(tmp_path: Path, closed: bool, code: int) -> None:
    returned, complaints, file = piped(tmp_path, closed=closed)
    assert (returned, complaints) == (code, "")
    assert json.loads(file.read_bytes())["answer"] == "It takes 3 µs…"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("json_file", [None, "-"])
def test_a_full_disk_behind_standard_output_is_one_line_and_costs_no_file(
    tmp_path: Path, json_file: str | None
) -> None:
    script = (
        "import sys; from onnxperf.cli import main; from onnxperf.cli.present import Output, present;"
        "from tests.results.toys import TOY, Toy, ToyResult;"
        f"output = Output(output=[{str(tmp_path / 'a.md')!r}], json={json_file!r});"
        "main.app.command(lambda: present(TOY, output, lambda _: ToyResult(Toy())), name='x'); main.main()"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script, "x"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            check=False,
        )
    assert done.returncode == 3
    assert "onnxperf: cannot write to standard output: No space left on device\n" in done.stderr
    assert (tmp_path / "a.md").stat().st_size


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_signs_that_standard_output_lacks_are_plain(encoding: str) -> None:
    script = (
        "from onnxperf.cli.surroundings import open_standard_streams; open_standard_streams();"
        "print('3 µs ± 1 … \\u200b模')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=True,
    )
    shown = done.stdout.decode(encoding)
    assert re.fullmatch(r"3 [uµ]s (\+-|±) 1 \.\. \\u200b\\u6a21\n", shown.replace("\r", ""))


def test_what_libraries_log_past_python_is_not_shown_and_what_python_prints_is() -> None:
    script = (
        "import os, sys; from onnxperf.cli.surroundings import open_standard_streams; open_standard_streams();"
        "from onnxperf.frameworks.logs import quiet_libraries\n"
        "with quiet_libraries():\n"
        "    os.write(2, b'native log\\n'); print('python', file=sys.stderr)\n"
        "os.write(2, b'native error\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "python\nnative error\n"
