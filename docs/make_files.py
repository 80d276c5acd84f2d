"""Write docs/files.md from the formats of the results: python docs/make_files.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnxperf.results.base import Result, result_classes
from onnxperf.results.formats import FORMATS

PAGE = Path(__file__).with_name("files.md")
COMMANDS = {
    "BenchResult": "bench, sweep, demo",
    "ComparisonResult": "runs compare",
    "LinesResult": "memory --lines",
    "RewriteResult": "einsum --rewrite",
}
"""Commands whose names are not those of their results."""
HEAD = """# Files

Every command writes files with `-o FILE`, as often as it is given, and every result with `result.save("FILE")`. The
suffix says what the file holds:

```
onnxperf bench model.onnx --call all -o calls.png -o calls.xlsx -o calls.json
```

A suffix that a result does not have is refused before anything is measured, with a list of the valid ones. Where a
result has several tables, `--table NAME` (`save(path, table=NAME)`) chooses the one in a `.csv`, `.parquet`
or `.md` file (a `.md` file holds the page without it);
`.xlsx` holds all of them, each as a sheet.

`-o -.csv` writes CSV to standard output, and the page goes to standard error. Every format can be written this way, one
per command. Binary formats are refused on a terminal. A file of that name is `./-.csv`. `--json -` is the same as
`-o -.json`, and `--json FILE` writes JSON under any name.

| suffix | holds | extra to install |
|---|---|---|
"""
EXTRAS = {".xlsx": "`excel`", ".parquet": "`parquet`"}
MIDDLE = """
Charts and tables exist where a result has them; some commands add suffixes or give one another meaning:

| command | tables (the first is the default) | charts | own suffixes |
|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    suffixes = [f"| `{suffix}` | {each.holds} | {EXTRAS.get(suffix, '')} |" for suffix, each in FORMATS.items()]
    commands = [_row(kind) for kind in sorted(result_classes().values(), key=_command)]
    return HEAD + "\n".join(suffixes) + "\n" + MIDDLE + "\n".join(commands) + "\n"


def _command(kind: type[Result[Any]]) -> str:
    return COMMANDS.get(kind.__name__, "p.memory()" if kind.__name__ == "NodeMemoryResult" else kind.kind)


def _row(kind: type[Result[Any]]) -> str:
    charts = [suffix for suffix, each in kind.formats().items() if each.of == "chart"]
    own = [f"`{suffix}`: {each.holds}" for suffix, each in kind.own_formats.items()]
    cells = [_command(kind), ", ".join(kind.tables), ", ".join(f"`{suffix}`" for suffix in charts), "; ".join(own)]
    return f"| {' | '.join(cell or '–' for cell in cells)} |"  # noqa: RUF001


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
