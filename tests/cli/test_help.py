"""Help texts, versions, and what is said about commands and options that do not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.console import Console

from onnxperf.cli.help import docs_page
from onnxperf.cli.main import app, run
from onnxperf.cli.suggestions import _COMMANDS as OTHER_COMMANDS
from onnxperf.cli.suggestions import _OPTIONS as OTHER_OPTIONS

Printed = pytest.CaptureFixture[str]


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
    assert text.startswith(f"Usage: {usage}\n")
    page = text.splitlines()[-1].removeprefix("Documentation: ")
    assert Path(page).exists()
    assert run([*words, "--help"]) == 0
    assert capsys.readouterr().out == text


def test_the_help_of_a_command_speaks_of_no_other(capsys: Printed) -> None:
    """Apart from its examples: what one command says about its option must hold for all that share it."""
    names = [name for name in app if not name.startswith("-")]
    for name in names:
        run([name, "--help"])
        text = capsys.readouterr().out.partition("For example:")[2].partition("╭")[2]
        others = [other for other in names if re.search(rf"(?<![-.\w]){other} (?:takes|shows|has|reads)\b", text)]
        assert others == [], name


def test_descriptions_fill_the_width_and_examples_stay_whole(capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(app["bench"], "_console", Console())  # one that was made before has another width
    run(["bench", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert "    onnxperf bench zoo:tiny-bert --against torch --dim batch=1,4 --dim seq=10,50" in lines
    assert max(len(line) for line in lines if "onnxperf bench" not in line and "docs" not in line) <= 60


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
        ("xyzzy", "unknown command 'xyzzy'; onnxperf help lists the commands"),
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
        ("bench m.onnx --xyzzy", "bench: unknown option --xyzzy; onnxperf help bench lists the options"),
        ("runs delete a --xlsx", "runs delete: unknown option --xlsx; onnxperf help runs delete lists the options"),
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
