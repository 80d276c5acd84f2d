"""`make texts` finds what a user can see."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.test_docs import load_maker

MAKER = Path(__file__).parents[1] / "docs" / "make_texts.py"
KNOWN = {
    "a sentence of an answer": ("analyze/answers/check.py", "is the first whose output is not within the tolerances"),
    "a reason of a judge": ("analyze/judges/comparison.py", "shows whether its calls vary"),
    "an error of a public function": ("api/diff.py", "a diff has two sides"),
    "the help of a command": ("cli/commands/bench.py", "Time models, or race them against each other."),
    "the help of an option": ("options/shared.py", "Random seed."),
    "a message of the command line": ("cli/main.py", "please report it; --debug shows the traceback"),
    "a refused equation": ("contraction/", "its element type is unknown"),
    "a missing library": ("errors.py", "is not installed; install it with: {install_command(extra)}"),
    "an error of a framework": ("frameworks/export.py", "nothing to convert"),
    "a limit of this process": ("limits.py", "address space"),
    "a step of a race": ("measure/worker_group.py", "starting workers"),
    "an error of a model file": ("model/external.py", "which is missing from"),
    "an error in a notebook": ("notebook.py", "a variable with a dict of arrays"),
    "the meaning of a field": ("records/race.py", "Position within the round, from 0."),
    "a heading of a table": ("render/memory/tables.py", "first call"),
    "a legend": ("render/", "95 % CI"),
    "documentation of a result": ("results/base.py", "The result in plain sentences, one per case."),
    "an error of a runtime": ("runtimes/ort/session.py", "cannot load the model"),
    "an error of the store": ("store/connect.py", "is not an SQLite database"),
    "a word for a number": ("wording/numbers.py", "less than 1 %"),
    "a step of building a zoo model": ("zoo/build.py", "this happens only once and may take minutes"),
}
SOURCE = '''"""A module."""

TABLE = {"key of a row": ("label", 1)}


def shown(name: "no annotation here") -> str:
    """Documentation of a public function."""
    if name == "not this one":
        raise ValueError(f"no run {name!r} in the store; " + f"choose from: {', '.join(names)}")
    return Column("heading", style="bold cyan"), re.compile("a pattern of words"), names["key of words"]


def _hidden() -> None:
    """Documentation of a private function."""
    execute("SELECT one FROM table"), "identifier"
'''


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    return load_maker("make_texts")


@pytest.fixture(scope="module")
def found(maker: ModuleType) -> list[tuple[str, int, str]]:
    return list(maker.texts())


@pytest.mark.parametrize(("path", "text"), KNOWN.values(), ids=KNOWN)
def test_known_messages_of_each_room_are_found(path: str, text: str, found: list[tuple[str, int, str]]) -> None:
    assert any(place.startswith(path) and text in each for place, _, each in found)


def test_a_text_has_the_line_where_it_begins(maker: ModuleType, found: list[tuple[str, int, str]]) -> None:
    for place, line, text in found[::50]:
        source = (maker.HOUSE / place).read_text(encoding="utf-8").splitlines()
        word = text.partition("{")[0].split()
        assert not word or word[0] in " ".join(source[line - 1 : line + 2]), (place, line, text)


def test_sentences_headings_and_documentation_are_texts_and_code_is_none(maker: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "one.py").write_text(SOURCE, encoding="utf-8")
    assert [text for _, _, text in maker.texts(tmp_path)] == [
        "label",
        "Documentation of a public function.",
        "no run {name} in the store; choose from: {', '.join(names)}",
        "heading",
    ]


def test_the_texts_are_printed_below_their_file_and_without_any_library() -> None:
    command = [sys.executable, "-I", "-S", str(MAKER), "errors.py"]
    printed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    assert printed[0] == "errors.py"
    assert any("is not installed" in line and line.split()[0].isdigit() for line in printed)
