"""Write docs/records.md from the docstrings of the records: python docs/make_records.py."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "onnxperf" / "records"
PAGE = Path(__file__).with_name("records.md")
EXPORTED = (
    *("Bench", "Case", "Subject", "Split", "Block", "Machine"),
    *("Check", "Difference", "NodeDifference"),
    *("Profile", "OperatorTime", "NodeTime", "SourceTime", "SourceGroup", "SessionOptions"),
    *("Diff", "DiffRow"),
    "Optimization",
    *("Conversion", "Signature"),
    *("RunComparison", "ComparedSubject", "KeptRun"),
    *("Memory", "MemoryCase", "MemorySubject", "MemoryStep", "Resident", "Growth"),
    *("Breakdown", "InputCopy", "LiveTensor"),
    *("MemoryLines", "LineMemory", "NodeMemories", "NodeMemory"),
    *("Stack", "StackFrame", "CodeShares", "NativeFunction", "Allocations", "Allocator"),
    *("GraphView", "ViewGraph", "ViewValue", "ViewTensor", "ViewNode", "ViewFunction", "ViewTotals"),
    *("Metrics", "NodeMetric"),
    *("EinsumPlan", "OrderTime", "Rewrite", "RewrittenSite"),
)
HEAD = """# Records

`onnxperf bench --json` writes a `Bench`, `onnxperf check --json` a `Check`, `onnxperf profile --json` a
`Profile`, `onnxperf diff --json` a `Diff`, `optimize` an `Optimization`, `einsum` an `EinsumPlan` or a `Rewrite`,
`convert` a `Conversion`, `memory` a `Memory` or `MemoryLines`, `stack` a `Stack`,
`view --as json` a `GraphView`. Times end in `_ns` (nanoseconds)
or `_us` (microseconds, as onnxruntime's traces have them), sizes in `_bytes`; what is unknown is
`null`. `version` changes when a field changes its meaning or disappears, not when one is added.
`onnxperf.load_run("result.json")` reads a bench back, with its tables and charts.

Status: `ok`, `differs`, `failed`, `timeout`, `oom`, `crashed`, `skipped` (and `pending`, `running`).
Verdict: `baseline`, `faster`, `slower`, `equivalent`, `undecided`.
"""


def page() -> str:
    """The whole page."""
    records = classes()
    return "\n".join([HEAD, *("\n".join(_section(records[name])) for name in EXPORTED)])


def classes() -> dict[str, ast.ClassDef]:
    """Every record by its name."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in sorted(SOURCE.glob("*.py")))
    return {node.name: node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def fields(record: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and meaning of every field."""
    for node, following in pairwise([*record.body, ast.Pass()]):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            meaning = " ".join(str(text.value).split()) if isinstance(text, ast.Constant) else ""
            yield node.target.id, _type(ast.unparse(node.annotation)), meaning


def _section(record: ast.ClassDef) -> list[str]:
    rows = [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning in fields(record)]
    return [
        f"## {record.name}",
        "",
        ast.get_docstring(record) or "",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
        *rows,
        "",
    ]


def _type(annotation: str) -> str:
    words = {" | None": " or null", "tuple[": "list of ", "dict[str, ": "object of ", ", ...]": "", "]": ""}
    for python, plain in words.items():
        annotation = annotation.replace(python, plain)
    return annotation


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
