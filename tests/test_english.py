"""Texts and docstrings are plain English: marks of the dialect that they once had are found."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source import FILES, name_of, parsed
from tests.test_docs import load_maker

MARKS = {
    '"if", "when" or "for"; "where" is for places': (
        r"\b(?:None|null|empty|nothing|dash|0) where\b|[;,] where (?:it|there|none|nothing|that) (?:is|was|are|has)\b"
        r"|\bwhere there (?:is|are|was|were)\b|(?:^|[.;] )Where (?:it|they|there|nothing|none|no|one|some|any) (?!came)"
    ),
    "[default: X]": r"\bunless (?:it is |they are )?(?:given|named|asked|set|told)\b",
    "next to, with, in addition to": r"\bbeside\b",
    "an adjective": r"\b(?:that|what) (?:was|were) (?:asked|chosen|found|given|kept|measured|requested)\b(?! so)",
    "retried": r"\btried again\b|\banew\b",
    "1.62× as fast": r"\btimes as fast\b",
    "American spelling": (
        r"\b\w*(?:optimi|normali|recogni|organi|summari|initiali|seriali|vectori|quanti|synchroni|minimi|maximi)"
        r"s(?:e|ed|es|ing|er|ation)\b|\banalys(?:e|ed|ing)\b|\b\w*(?:behaviour|colour|favour|honour|neighbour)\w*"
        r"|\b(?:centre|licence|grey|labelled|modelled|cancelled)\b"
    ),
    "the word of the trade": r"\b(?:hushed|shelf|shelves|weather|twins?|duels?)\b",
}
"""What to write instead, and the pattern of what not to write."""
FIELDS = re.compile(r"\{[^{}]*\}|`[^`]*`")
"""Code inside of texts."""


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Those of modules, classes and functions, and the texts below fields and constants."""
    for node in ast.walk(tree):
        for each in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            if (
                isinstance(each, ast.Expr)
                and isinstance(each.value, ast.Constant)
                and isinstance(each.value.value, str)
            ):
                yield each.lineno, each.value.value


def found() -> Iterator[tuple[str, int, str]]:
    """Every text and docstring, with its file and line."""
    yield from load_maker("make_texts").texts()
    for path in FILES:
        yield from ((name_of(path), line, text) for line, text in docstrings(parsed(path)))


@pytest.fixture(scope="module")
def texts() -> list[tuple[str, int, str]]:
    return [(path, line, " ".join(text.split())) for path, line, text in found()]


@pytest.mark.parametrize("better", MARKS)
def test_no_text_has_a_mark_of_the_old_dialect(better: str, texts: list[tuple[str, int, str]]) -> None:
    marked = [f"{path}:{line}: {text}" for path, line, text in texts if re.search(MARKS[better], FIELDS.sub("", text))]
    assert marked == [], f"write: {better}"


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("None where it is not known", '"if", "when" or "for"; "where" is for places'),
        ("all cores unless given", "[default: X]"),
        ("kept beside the commit", "next to, with, in addition to"),
        ("what was measured", "an adjective"),
        ("2 times as fast", "1.62× as fast"),
        ("optimised colours", "American spelling"),
    ],
)
def test_a_mark_is_found(text: str, better: str) -> None:
    assert re.search(MARKS[better], text)
