"""Print every text of the source that a user can see, with its file and line: python docs/make_texts.py [PART_OF_PATH].

A text is a string constant or an f-string, whose fields are shown as {expression}; texts that are added to each other
are one. The rule has three parts:

- sentences: texts of at least two words, apart from code, queries and patterns (`_CODE`), and from keys, annotations,
  comparisons and arguments of `re`;
- headings and labels: in the rooms of `_LABELLED`, texts of one word that are arguments of what draws (`_DRAWS`), or
  values of a module's constant; names of styles (`_STYLES`) are left out;
- documentation that `--help`, `help()` or docs/records.md shows: docstrings of public names and of their fields, in the
  rooms of `_DOCUMENTED`.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HOUSE = Path(__file__).parents[1] / "src" / "onnxperf"
_DOCUMENTED = ("api/", "cli/", "errors.py", "notebook.py", "records/", "results/")
_LABELLED = ("analyze/answers/", "render/", "results/", "wording/")
_DRAWS = {"Column", "Flow", "Heading", "Line", "annotate", "set_title", "set_xlabel", "set_ylabel", "suptitle"}
_STYLES = re.compile(r"(bold|dim|red|green|yellow|cyan|magenta|blue|left|right|top|bottom|upper|lower|center|none| )+")
_WORDS = re.compile(r"[^\W\d_]{2,}[,:;.…)'`]* +[({\['`]*[^\W_]")
_CODE = re.compile(
    r"^\s*(?:import|def|return|class|SELECT|PRAGMA|CREATE|ALTER|INSERT|UPDATE|DELETE|DROP|COMMIT|BEGIN) .*"
    r"|^\s*(?:from|for|if|while|raise|with) .*[(:=].*|.*</?[a-z]+[ />].*|.*\\[dwsb].*|#\w{3,8}|.*\n {4}\w.*",
    re.DOTALL,
)


class Text(NamedTuple):
    """What a user can see, and where it stands."""

    path: str
    line: int
    text: str


def texts(house: Path = HOUSE) -> Iterator[Text]:
    """All texts of a package, file by file."""
    for path in sorted(house.rglob("*.py")):
        name = path.relative_to(house).as_posix()
        found = set(_of_file(ast.parse(path.read_text(encoding="utf-8")), name))
        yield from (Text(name, line, text) for line, text in sorted(found))


def page(part: str = "") -> str:
    """The texts of the files whose paths have this part, below the name of their file."""
    files: dict[str, list[str]] = {}
    for path, line, text in texts():
        if part in path:
            first, *more = text.strip().splitlines()
            files.setdefault(path, []).extend([f"{line:5}  {first}", *(f"       {each}".rstrip() for each in more)])
    return "\n\n".join("\n".join([path, *lines]) for path, lines in files.items())


def _of_file(tree: ast.Module, name: str) -> Iterator[tuple[int, str]]:
    if name.startswith(_DOCUMENTED) and "/_" not in name:
        yield from _documentation(tree)
    labelled = name.startswith(_LABELLED)
    for node in tree.body:
        for line, text, label in _below(node, label=isinstance(node, ast.Assign | ast.AnnAssign)):
            if _WORDS.search(text) or (labelled and label and re.search(r"[^\W\d_]{2}", text)):
                yield line, text


def _documentation(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Docstrings of public functions and classes, and of the fields of these classes."""
    for at, node in enumerate(tree.body):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) if not name.startswith("_"):
                docstring = ast.get_docstring(node)
                if docstring:
                    yield node.body[0].lineno, docstring
                if isinstance(node, ast.ClassDef):
                    yield from _documentation(node)
            case ast.Expr(value=ast.Constant(value=str(text))) if at and isinstance(tree, ast.ClassDef):
                yield node.lineno, inspect.cleandoc(text)


def _below(node: ast.AST, *, label: bool) -> Iterator[tuple[int, str, bool]]:
    """The texts in a node, and whether one word would be a heading or a label there."""
    text = _text(node)
    if text is None:
        for child in _children(node):
            yield from _below(child, label=label or _draws(node))
    elif isinstance(node, ast.expr) and not _CODE.fullmatch(text) and not _STYLES.fullmatch(text):
        yield node.lineno, text, label


def _text(node: ast.AST) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_text(part) or f"{{{_field(part)}}}" for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            sides = {side: _text(side) for side in (left, right)}
            if any(text is not None for text in sides.values()):
                return "".join(f"{{{ast.unparse(side)}}}" if text is None else text for side, text in sides.items())
    return None


def _field(part: ast.expr) -> str:
    return ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ast.unparse(part)


def _draws(node: ast.AST) -> bool:
    """Whether a node is a call of what draws texts."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name in _DRAWS
    return False


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node in which a text may stand: no annotation, pattern, key, comparison or documentation."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"))) | ast.Compare() | ast.match_case():
            yield from node.body if isinstance(node, ast.match_case) else ()
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Dict(values=values):
            yield from values
        case ast.AnnAssign(value=value):
            yield from [value] if value else ()
        case ast.FunctionDef(args=args, body=body, decorator_list=decorators):
            yield from (*decorators, *args.defaults, *(each for each in args.kw_defaults if each), *body)
        case ast.Subscript(value=value):
            yield value
        case ast.keyword(arg="style" | "encoding" | "mode", value=_):
            return
        case _:
            yield from ast.iter_child_nodes(node)


if __name__ == "__main__":
    print(page(*sys.argv[1:2]))
