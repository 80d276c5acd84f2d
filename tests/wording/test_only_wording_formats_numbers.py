"""Numbers are formatted in `wording` only: a reader of the source finds every format of a number elsewhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import onnxperf

HOUSE = Path(onnxperf.__file__).parent
NUMERIC = re.compile(r"(.?[<>=^])?[-+ ]?#?0?\d*([,_]|\.\d+|[deEfFgGn%])+")
"""A format that only a number has: thousands, decimals or a type. Widths are for texts too, hexadecimals for codes."""

EXEMPT = {
    "render/graph/svg.py": "coordinates",
    "render/stack/flame.py": "coordinates",
    "render/kit/chart.py": "ticks of matplotlib",
    "model/generate.py": "numbers in generated source code",
}
"""Files in which numbers are not for readers."""

STILL_TO_CONVERT = {
    # TEMPORARY: files that other hands convert in these days; a file leaves the list when it is done.
    "frameworks/tensorflow.py",
    "measure/columns.py",
    "measure/native_stack.py",
    "measure/process.py",
    "model/load.py",
}

FILES = {str(path.relative_to(HOUSE)): path for path in sorted(HOUSE.rglob("*.py"))}
CHECKED = [name for name in FILES if name.partition("/")[0] != "wording" and name not in EXEMPT]


def numeric_formats(source: str) -> Iterator[tuple[int, str]]:
    """Line and format of every number that is formatted: in f-strings, by format() and by str.format."""
    for node in ast.walk(ast.parse(source)):
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


@pytest.mark.parametrize("name", CHECKED)
def test_no_number_is_formatted_outside_of_wording(name: str) -> None:
    found = list(numeric_formats(FILES[name].read_text(encoding="utf-8")))
    if name in STILL_TO_CONVERT:
        assert found, f"{name} is converted: take it off the list"
    else:
        assert found == []


@pytest.mark.parametrize("name", sorted({*EXEMPT, *STILL_TO_CONVERT}))
def test_the_lists_name_files_that_exist_and_need_it(name: str) -> None:
    assert list(numeric_formats(FILES[name].read_text(encoding="utf-8")))


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
    assert [spec for _, spec in numeric_formats(source)] == specs
