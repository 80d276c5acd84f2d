"""Help texts, versions, and what is said about commands and options that do not exist."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from onnxperf.cli.command import purpose
from onnxperf.cli.help import docs_page
from onnxperf.cli.main import app, run
from onnxperf.cli.overview import COMMANDS, QUESTIONS
from onnxperf.cli.suggestions import _COMMANDS as OTHER_COMMANDS
from onnxperf.cli.suggestions import _OPTIONS as OTHER_OPTIONS

Printed = pytest.CaptureFixture[str]
WIDTHS = [60, 80, 100, 140]


def every_command() -> Iterator[tuple[str, ...]]:
    yield ("--install-completion",)
    for name in COMMANDS:
        yield (name,)
        yield from ((name, sub) for sub in app[name] if not sub.startswith("-"))


EVERY = list(every_command())


def function_of(words: Sequence[str]) -> Any:
    return app.parse_commands(words)[1][-1].default_command


def examples(words: Sequence[str]) -> list[str]:
    text = inspect.getdoc(function_of(words)) or ""
    return text.partition("Examples\n--------\n")[2].partition("\n\n")[0].splitlines()


def shown(words: Sequence[str], width: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run([*words, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        ([], "onnxperf COMMAND [OPTIONS]"),
        (["bench"], "onnxperf bench [OPTIONS] MODEL..."),
        (["diff"], "onnxperf diff [OPTIONS] BEFORE [AFTER]"),
        (["doctor"], "onnxperf doctor [OPTIONS]"),
        (["einsum"], "onnxperf einsum [OPTIONS] [EQUATION]"),
        (["help"], "onnxperf help COMMAND..."),
        (["runs"], "onnxperf runs [COMMAND] [OPTIONS]"),
        (["runs", "show"], "onnxperf runs show [OPTIONS] RUN"),
        (["runs", "delete"], "onnxperf runs delete [OPTIONS] ID..."),
        (["view"], "onnxperf view [OPTIONS] MODEL [TRACE]"),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_help_names_the_arguments_and_ends_with_the_documentation(
    words: list[str], usage: str, capsys: Printed
) -> None:
    assert run(["help", *words]) == 0
    text = capsys.readouterr().out
    assert f"\n\nUsage: {usage}\n" in text
    page = text.splitlines()[-1].removeprefix("Documentation: ")
    assert Path(page).exists()
    assert run([*words, "--help"]) == 0
    assert capsys.readouterr().out == text


def test_no_arguments_show_the_overview(capsys: Printed) -> None:
    assert run([]) == 0
    shown = capsys.readouterr().out
    assert run(["--help"]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize("width", WIDTHS)
def test_the_overview_lists_every_command_once_by_its_question_on_one_screen(
    width: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown([], width, capsys, monkeypatch)
    places = [text.index(question) for question in QUESTIONS]
    assert places == sorted(places)
    assert list(QUESTIONS) == [
        "How fast?",
        "Where does it go?",
        "What would help?",
        "Same results?",
        "Past runs",
        "This machine",
    ]
    *lines, _documentation = text.splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= width
    named = re.findall(r"^(?:  |\w.{18}| {19})(\w+)  +[A-Z]", text, re.MULTILINE)
    assert named == [command for command in COMMANDS if command != "demo"]
    assert "\nStart here: onnxperf demo\n" in text


def test_the_overview_names_every_command_in_a_few_words() -> None:
    assert sorted([*COMMANDS, "help"]) == sorted(name for name in app if not name.startswith("-"))
    phrases = [phrase for commands in QUESTIONS.values() for phrase in commands.values()]
    assert [phrase for phrase in phrases if len(phrase.split()) > 9 or phrase.endswith(".")] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_texts_fill_the_width_and_examples_stay_whole(
    words: tuple[str, ...], width: int, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = shown(words, width, capsys, monkeypatch)
    assert "\x1b" not in text
    lines = [line for line in text.splitlines() if not line.startswith(("  onnxperf ", "  # ", "Documentation: "))]
    assert [line for line in lines if len(line) > min(width, 100) or line != line.rstrip()] == []
    assert [line for line in examples(words) if f"\n  {line}\n" not in text] == []


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_help_of_a_command_has_examples_then_common_options_then_the_others(
    words: tuple[str, ...], capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, function = shown(words, 80, capsys, monkeypatch), function_of(words)
    known = {each.name: each for each in (*function.takes, *function.extra)}
    assert set(function.common) <= set(known)
    assert len(function.common) <= 6
    headings = re.findall(r"^(\w[\w ]*):$", text, re.MULTILINE)
    wanted = ["Examples", "Arguments", "Commands", "Common options"]
    assert headings[: len(set(wanted) & set(headings))] == [each for each in wanted if each in headings]
    assert len(headings) == len(set(headings))
    listed = text.partition("\nNotes:")[0]
    for each in known.values():
        assert len(re.findall(rf"^  (?:-\w, )?{each.flag}\b(?!-)", listed, re.MULTILINE)) == 1, each.flag
    common = text.partition("Common options:\n")[2].partition("\n\n")[0]
    assert re.findall(r"^  (?:-\w, )?(--[\w-]+)", common, re.MULTILINE) == [
        known[name].flag for name in function.common
    ]


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_examples_have_a_comment_each_and_are_understood(words: tuple[str, ...]) -> None:
    comments, commands = examples(words)[::2], examples(words)[1::2]
    assert 1 <= len(commands) <= 4
    assert all(each.startswith("# ") and len(each) <= 78 for each in comments)
    for each in commands:
        typed = shlex.split(re.split(r" [|>] ", each)[0])
        assert typed[0] == "onnxperf"
        function, bound, _ = app.parse_args(typed[1:], exit_on_error=False, print_error=False)
        assert function is not None
        known = {option.name: option for option in (*getattr(function, "takes", ()), *getattr(function, "extra", ()))}
        for name, value in bound.kwargs.items():
            if name in known and value is not None:
                known[name].typed(value)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_is_written_in_short_sentences_without_semicolons(words: tuple[str, ...]) -> None:
    function = function_of(words)
    described = re.sub(r"Examples\n-+\n.*?(?=\n\n|\Z)", "", inspect.getdoc(function) or "", flags=re.DOTALL)
    texts = [*re.split(r"\n\s*\n|\n\w+\n", described)]
    texts += [purpose(each, races=True) for each in (*function.takes, *function.extra)]
    assert [text for text in texts if ";" in text or "unless given" in text] == []
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.?])\s+", text)]
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []


@pytest.mark.parametrize(("variable", "styles"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("FORCE_COLOR", "1")])
def test_a_terminal_shows_bold_headings_and_no_color_if_that_is_unwanted(
    variable: str, styles: str, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv(variable, styles)
    text = shown(["bench"], 80, capsys, monkeypatch)
    assert ("\x1b[1mUsage:\x1b[0m onnxperf bench" in text) == (variable != "TERM")
    assert ("\x1b[1mCommon options:" in text) == (variable != "TERM")
    assert ("\x1b[36m--dim" in text) == (variable == "FORCE_COLOR")
    assert "\x1b[33m" not in text
    assert "\x1b[37m" not in text


def test_help_is_ascii_where_a_stream_takes_nothing_else() -> None:
    command = [sys.executable, "-m", "onnxperf", "runs", "--help"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True)
    assert done.stdout.isascii()
    assert b"memory.." in done.stdout


def test_the_help_of_a_command_speaks_of_no_other(capsys: Printed) -> None:
    """Apart from its examples: what one command says about its option must hold for all that share it."""
    names = [name for name in app if not name.startswith("-")]
    for name in names:
        run([name, "--help"])
        text = capsys.readouterr().out.partition("Examples:")[2].partition("\n\n")[2]
        others = [other for other in names if re.search(rf"(?<![-.\w]){other} (?:takes|shows|has|reads)\b", text)]
        assert others == [], name


def test_a_command_without_a_page_of_its_own_names_the_overview() -> None:
    assert docs_page(["help"]) == docs_page([]) == str(Path(docs_page(["bench"])).with_name("command-line.md"))


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version_names_all_that_a_measurement_depends_on(flag: str, capsys: Printed) -> None:
    assert run([flag]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("onnxperf ")
    assert lines[1].startswith("Python 3.")
    assert [line for line in lines if re.fullmatch(r"onnxruntime(-gpu)? [\d.]+ \(providers: cpu.*\)", line)]
    assert {"onnx", "numpy"} <= {line.split()[0] for line in lines}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("runs list", "unknown command 'runs list'; did you mean onnxperf runs?"),
        ("runs shwo", "unknown command 'runs shwo'; did you mean onnxperf runs show?"),
        ("help runs shwo", "unknown command 'runs shwo'; did you mean onnxperf runs show?"),
        ("shwo", "unknown command 'shwo'; did you mean onnxperf runs show?"),
        ("show", "unknown command 'show'; did you mean onnxperf runs show?"),
        ("benhc m.onnx", "unknown command 'benhc'; did you mean onnxperf bench?"),
        ("benchmark", "unknown command 'benchmark'; did you mean onnxperf bench?"),
        ("version", "unknown command 'version'; did you mean onnxperf --version?"),
        ("xyzzy", "unknown command 'xyzzy'; for a list of commands: onnxperf help"),
        ("--hepl", "unknown option --hepl; did you mean --help?"),
        ("doctor now", "doctor: unexpected argument 'now'; usage: onnxperf doctor [OPTIONS]"),
        ("profile", "profile: SOURCE is missing; usage: onnxperf profile [OPTIONS] SOURCE"),
        ("bench m.onnx --bs=8", "bench: unknown option --bs; use --batch 8"),
        ("bench m.onnx --batch-size=8", "bench: unknown option --batch-size; use --batch 8"),
        ("bench m.onnx --bs", "bench: unknown option --bs; use --batch …"),
        ("bench m.onnx --export-json f.json", "bench: unknown option --export-json; use --json f.json"),
        ("bench m.onnx --calls 3", "bench: unknown option --calls; use --calls-per-block 3"),
        ("bench m.onnx --duration 3", "bench: unknown option --duration; use --time 3"),
        ("bench m.onnx --html", "bench: unknown option --html; use -o FILE.html"),
        ("bench m.onnx --csv -", "bench: unknown option --csv; use -o -.csv"),
        ("bench m.onnx --plot a.png", "bench: unknown option --plot; use -o a.png"),
        ("bench m.onnx --markdown a.txt", "bench: unknown option --markdown; use -o FILE.md"),
        ("profile m.onnx --iterations 3", "profile: unknown option --iterations; use --calls 3"),
        ("bench m.onnx --dmi a=1", "bench: unknown option --dmi; did you mean --dim?"),
        ("bench m.onnx --xyzzy", "bench: unknown option --xyzzy; for a list of options: onnxperf help bench"),
        (
            "runs delete a --xlsx",
            "runs delete: unknown option --xlsx; for a list of options: onnxperf help runs delete",
        ),
        ("bench --dim", "bench: --dim needs a value: --dim NAME=SIZE"),
        ("bench m.onnx -o", "bench: -o needs a value: -o FILE"),
        ("bench m.onnx --count bytes", "--count bytes: unknown value; choose from: instructions"),
        ("bench m.onnx --quiet=3", "--quiet=3: this option takes no value; use --quiet alone"),
        ("bench m.onnx --time 3 --time 4", "--time: given twice; use it once"),
        ("bench m.onnx --time -3", "--time -3: expected more than 0 seconds"),
        ("bench m.onnx --min-effect 5", "--min-effect 5: expected between 0 and 1 (0.01 is 1 %)"),
        ("bench -p m.onnx", "bench: unknown option -p; use onnxperf profile MODEL"),
    ],
)
def test_what_does_not_exist_is_answered_with_what_was_probably_meant(typed: str, said: str, capsys: Printed) -> None:
    assert run(typed.split()) == 2
    assert capsys.readouterr().err == f"onnxperf: {said}\n"


def test_what_is_suggested_exists() -> None:
    assert [name for name in OTHER_COMMANDS if name not in [*app]] == []
    known = {
        option
        for name in app
        if not name.startswith("-")
        for each in app[name].assemble_argument_collection()
        for option in each.names
    }
    targets = {template.split()[0] for template in OTHER_OPTIONS}
    assert {target for target in targets if target.startswith("-")} - known == set()
