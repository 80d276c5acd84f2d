"""Numbers are formatted in `wording` only: a reader of the source finds every format of a number elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source import FILES, name_of, offenders, parsed

NUMERIC = re.compile(r"(.?[<>=^])?[-+ ]?#?0?\d*([,_]|\.\d+|[deEfFgGn%])+")
"""A format that only a number has: thousands, decimals or a type. Widths are for texts too, hexadecimals for codes."""

EXEMPT = {
    "render/graph/svg.py": "coordinates",
    "render/web/document.py": "coordinates of shapes, in percent of a cell",
}
"""Files in which numbers are not for readers."""


def numeric_formats(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and format of every number that is formatted: in f-strings, by format() and by str.format."""
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue(format_spec=ast.JoinedStr(values=parts)):
                specs = ["".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in parts)]
            case ast.Call(func=ast.Name(id="format"), args=[_, ast.Constant(value=str(spec))]):
                specs = [spec]
            case ast.Call(func=ast.Attribute(attr="format", value=ast.Constant(value=str(text)))):
                specs = re.findall(r"\{[^{}]*?:([^{}]*)\}", text)
            case _:
                continue
        yield from ((node.lineno, spec) for spec in specs if NUMERIC.fullmatch(spec))


def test_numbers_are_formatted_in_wording_and_in_the_files_that_are_named_here() -> None:
    others = [path for path in FILES if not name_of(path).startswith("wording/")]
    assert set(offenders(others, lambda path: list(numeric_formats(parsed(path))))) == set(EXEMPT)


@pytest.mark.parametrize(
    ("source", "specs"),
    [
        ('f"{x:.3g}"', [".3g"]),
        ('f"{x:,}"', [","]),
        ('f"{x:,.0f}"', [",.0f"]),
        ('f"{x:.1%}"', [".1%"]),
        ('f"{x:{n}.2f}"', ["0.2f"]),
        ('f"{x:+.2f} {y:03d}"', ["+.2f", "03d"]),
        ('f"{x:>8,}"', [">8,"]),
        ('format(x, ".2f")', [".2f"]),
        ('"{a:.2f} {b}".format(a=1, b=2)', [".2f"]),
        ('f"{x} {x:>8} {x:<{n}} {x!r:^3}"', []),
        ('f"{when:%Y-%m-%d} {channel:02x}"', []),
    ],
)
def test_formats_are_found_wherever_they_stand(source: str, specs: list[str]) -> None:
    assert [spec for _, spec in numeric_formats(ast.parse(source))] == specs
