"""Write docs/records.md from the docstrings of the records: python docs/make_records.py."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "onnxperf" / "records"
PAGE = Path(__file__).with_name("records.md")
DOCUMENT = "Document"
HEAD = """# Records

Every result is a document: `-o FILE.json` writes it, and the store saves results of measurements. Names of times end
in `_ns` (nanoseconds) or `_us` (microseconds, as in onnxruntime traces), names of sizes in `_bytes`. Unknown values are
`null`. `version` changes when a field is removed or changes its meaning, not when one is added.
`onnxperf.load_run("result.json")` reads a result back, with its tables and charts.

Below are the documents, the named types of fields, and all records in alphabetical order.
"""


def page() -> str:
    """The whole page."""
    records, words = classes(), literals()
    found = [records[name] for name in sorted(exported(records))]
    documents = [record for record in found if _is_document(record, records) and not _is_base(record.name, records)]
    mentioned = {word for record in found for _, kind, _ in fields(record) for word in re.findall(r"\w+", kind)}
    parts = [
        HEAD,
        *_table("document | meaning", ((_link(each.name), ast.get_docstring(each) or "") for each in documents)),
        *_table("type | meaning", ((f"`{name}`", words[name]) for name in sorted(mentioned & words.keys()))),
        *("\n".join(_section(record)) for record in found),
    ]
    return "\n".join(parts)


def classes() -> dict[str, ast.ClassDef]:
    """Every record by its name."""
    return {node.name: node for node in _statements() if isinstance(node, ast.ClassDef)}


def literals() -> dict[str, str]:
    """The values of every type that is a choice of texts or a number with bounds, by its name."""
    found = {}
    for node, following in pairwise([*_statements(), ast.Pass()]):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(ast.Name(id="Literal"), choice)):
                found[name] = ", ".join(f"`{value}`" for value in ast.literal_eval(choice))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(ast.Name(id="Annotated"))):
                found[name] = _meaning_of(following)
    return found


def exported(records: dict[str, ast.ClassDef]) -> set[str]:
    """Names of all documents, of what they inherit from, and of the records in their fields."""
    found: set[str] = set()
    waiting = [name for name, record in records.items() if _is_document(record, records)]
    while waiting:
        name = waiting.pop()
        found.add(name)
        kinds = " ".join(kind for _, kind, _ in fields(records[name]))
        waiting += {*_bases(records[name]), *re.findall(r"\w+", kinds)} & records.keys() - found
    return found


def fields(record: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of every field that a record does not inherit."""
    for node, following in pairwise([*record.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield _json_name(node.target.id, node.value), _type(ast.unparse(node.annotation)), _meaning_of(following)


def _meaning_of(following: ast.stmt) -> str:
    """The text behind a statement."""
    text = following.value if isinstance(following, ast.Expr) else None
    return " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""


def _statements() -> Iterator[ast.stmt]:
    for file in sorted(SOURCE.glob("*.py")):
        yield from ast.parse(file.read_text(encoding="utf-8")).body


def _json_name(name: str, default: ast.expr | None) -> str:
    """The name of a field in JSON, which may be another than in Python."""
    keywords = default.keywords if isinstance(default, ast.Call) else []
    return next((ast.literal_eval(each.value) for each in keywords if each.arg == "name"), name)


def _bases(record: ast.ClassDef) -> list[str]:
    return [base.id for base in record.bases if isinstance(base, ast.Name)]


def _is_base(name: str, records: dict[str, ast.ClassDef]) -> bool:
    """Whether other records inherit from this one."""
    return any(name in _bases(record) for record in records.values())


def _is_document(record: ast.ClassDef, records: dict[str, ast.ClassDef]) -> bool:
    return record.name == DOCUMENT or any(
        _is_document(records[base], records) for base in _bases(record) if base in records
    )


def _section(record: ast.ClassDef) -> list[str]:
    inherited = [f"All fields of {_link(base)}, and:" for base in _bases(record) if base != "Struct"]
    rows = ((f"`{name}`", kind, meaning) for name, kind, meaning in fields(record))
    text = [ast.get_docstring(record) or "", *inherited]
    return [f"## {record.name}", "", "\n\n".join(text), "", *_table("field | type | meaning", rows)]


def _table(titles: str, rows: Iterable[tuple[str, ...]]) -> list[str]:
    bars = "|---" * (titles.count("|") + 1) + "|"
    return [f"| {titles} |", bars, *(f"| {' | '.join(row)} |" for row in rows), ""]


def _link(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def _type(annotation: str) -> str:
    words = {" | None": " or null", "tuple[": "list of ", "dict[str, ": "object of ", ", ...]": "", "]": ""}
    for python, plain in words.items():
        annotation = annotation.replace(python, plain)
    return annotation


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
