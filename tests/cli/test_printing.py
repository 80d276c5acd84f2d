"""What commands print: no name of a stranger controls the terminal."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from onnxperf.cli.main import run
from onnxperf.cli.printing import print_text, write_output
from onnxperf.cli.surroundings import show_traceback

CLI = Path(onnxperf.__file__).parent / "cli"
CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
"""Sets the clipboard of the terminal that shows it."""
HOSTILE = f"a{CLIPBOARD}\x9b31m\u202eb"
SHOWN = "a\\x1b]52;c;ZXZpbA==\\x07\\x9b31m\\u202eb"
MAY_PRINT = {
    "printing.py": "the function itself",
    "help.py": "our own texts",
    "surroundings.py": "a traceback with escapes, and the sequence that shows the cursor",
}


def printed(path: Path) -> Iterator[str]:
    """Everything in a file that prints by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id="print")):
                yield "print"
            case ast.Call(func=ast.Attribute(attr="print" | "print_json" | "print_exception" as name)):
                yield f".{name}"
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdout" | "stderr" | "__stdout__" | "__stderr__"):
                yield f"sys.{node.attr}"
            case ast.Attribute(value=ast.Name(id="os"), attr="write"):
                yield "os.write"


def test_only_one_function_of_the_command_line_prints() -> None:
    found = {str(path.relative_to(CLI)): set(printed(path)) for path in CLI.rglob("*.py")}
    others = {name: what for name, what in found.items() if what and name not in MAY_PRINT}
    assert others == {"main.py": {"sys.stdout"}, "present.py": {"sys.stdout"}}
    for name in others:  # which are flushed or given up there, not written
        text = (CLI / name).read_text(encoding="utf-8")
        assert text.count("sys.stdout") == text.count("sys.stdout.flush()") + text.count("abandon(sys.stdout)")


def test_what_prints_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("print(1); console.print(1); sys.stdout.write(''); os.write(1, b''); page.printed()")
    assert sorted(printed(file)) == [".print", "os.write", "print", "sys.stdout"]


class Terminal(io.TextIOWrapper):
    """A standard output that someone looks at."""

    def isatty(self) -> bool:
        return True


def test_a_file_on_standard_output_is_escaped_only_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"one {HOSTILE}\ntwo é\n"
    for kind, wanted in ((Terminal, f"one {SHOWN}\ntwo é\n"), (io.TextIOWrapper, text)):
        raw = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", kind(raw, encoding="utf-8"))
        write_output(text.encode())
        assert raw.getvalue().decode() == wanted


def test_lines_stay_lines_and_everything_else_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_text(f"`time=1` {HOSTILE}\nwrote\r{HOSTILE}")
    assert capsys.readouterr().out == f"--time 1 {SHOWN}\nwrote\\r{SHOWN}\n"


def test_a_traceback_is_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    show_traceback(ValueError(f"no {HOSTILE}"))
    assert capsys.readouterr().err == f"ValueError: no {SHOWN}\n"


# ---------------------------------------------------------------- whole commands


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model in the current folder in which everything has a hostile name that may have one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / f"{HOSTILE}.db"))
    weight = numpy_helper.from_array(np.ones((4, 4), np.float32), f"w{HOSTILE}")
    value = [helper.make_tensor_value_info(each, TensorProto.FLOAT, [2, 4]) for each in "xy"]
    node = helper.make_node("MatMul", ["x", f"w{HOSTILE}"], ["y"], name=f"node{HOSTILE}")
    graph = helper.make_graph([node], f"g{HOSTILE}", value[:1], value[1:], [weight], doc_string=HOSTILE)
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=HOSTILE, doc_string=HOSTILE
    )
    path = f"model{HOSTILE}.onnx"
    onnx.save(made, path)
    return path


Command = Callable[[str], list[str]]
COMMANDS: dict[str, Command] = {
    "help": lambda _model: [HOSTILE, "--help"],
    "help of": lambda _model: ["help", HOSTILE],
    "unknown option": lambda model: ["bench", model, f"--{HOSTILE}"],
    "no such command": lambda _model: [HOSTILE],
    "no such model": lambda _model: ["bench", f"missing{HOSTILE}.onnx"],
    "no such run": lambda _model: ["runs", "show", HOSTILE],
    "no such runs": lambda _model: ["runs", "delete", HOSTILE],
    "no such bundle": lambda _model: ["runs", "import", HOSTILE],
    "no such folder": lambda model: ["view", model, "-o", f"{HOSTILE}/x.svg"],
    "completion": lambda _model: ["--install-completion", "--shell", "bash", "--output", f"{HOSTILE}.sh"],
    "quiet": lambda model: ["check", model, "--quiet"],
    "bench": lambda model: ["bench", model, "--time", "0.2", "--tag", f"note={HOSTILE}", "-o", f"{HOSTILE}.json"],
    "runs": lambda _model: ["runs"],
    "show": lambda _model: ["runs", "show", "last"],
    "csv": lambda _model: ["runs", "export", "last", "-o", "-.csv"],
    "json": lambda _model: ["runs", "export", "last", "--json", "-"],
    "markdown": lambda _model: ["runs", "export", "last", "-o", "-.md"],
    "report": lambda _model: ["report", "last", "-o", f"{HOSTILE}.html"],
    "bundle": lambda _model: ["runs", "export", "last", "-o", f"{HOSTILE}.zip"],
    "import": lambda _model: ["runs", "import", f"{HOSTILE}.zip", "--store", f"other{HOSTILE}.db"],
    "delete": lambda _model: ["runs", "delete", "last"],
    "history": lambda _model: ["history", HOSTILE],
    "text": lambda model: ["view", model],
    "dot": lambda model: ["view", model, "-o", "-.dot"],
    "tree": lambda model: ["view", model, "-o", "-.json"],
    "serve": lambda _model: ["serve", "--store", f"{HOSTILE}.db", "--host", f"{HOSTILE}", "--port", "0"],
    "optimize": lambda model: ["optimize", model, "-o", f"{HOSTILE}.onnx"],
    "debug": lambda _model: ["bench", f"missing{HOSTILE}.onnx", "--debug"],
}


def test_no_command_prints_what_controls_a_terminal(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test, as most of these commands are about the run that another keeps."""
    heard = {}
    for name, arguments in COMMANDS.items():
        raw, errors = io.BytesIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", Terminal(raw, encoding="utf-8", write_through=True))
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setenv("TERM", "dumb")  # no colors of our own
        monkeypatch.setattr(sys, "argv", ["onnxperf", *arguments(model)])
        _run(arguments(model))
        heard[name] = raw.getvalue().decode() + errors.getvalue()
        assert heard[name], f"{name} prints something"
    loud = {name: text for name, text in heard.items() if set(text) & set("\x1b\x07\x9b\u202e\r")}
    assert loud == {}
    words = {"bench": "ort takes", "show": "note=a", "import": "imported 1 of", "report": "wrote a", "dot": "node"}
    assert {name: word for name, word in words.items() if word not in heard[name]} == {}


def _run(arguments: list[str]) -> Any:
    try:
        return run(arguments)
    except Exception as error:  # --debug
        show_traceback(error)
