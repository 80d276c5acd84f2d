"""Write docs/files.md from the formats of the results: python docs/make_files.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onnxperf.results.base import Show, shows
from onnxperf.results.formats import COMMON

PAGE = Path(__file__).with_name("files.md")
COMMANDS = {
    "Bench": "bench, sweep, demo",
    "RunComparison": "runs compare",
    "MemoryLines": "memory --lines",
    "NodeMemories": "p.memory()",
    "Profiles": "profile of several variants",
    "Rewrite": "einsum --rewrite",
}
"""Commands whose names are not the kinds of their runs."""
HEAD = """# Files

Every command writes files with `-o FILE`, as often as it is given, and every result with `result.save("FILE")`. The
suffix says what the file holds:

```
onnxperf bench model.onnx --call all -o calls.png -o calls.xlsx -o calls.json
```

A suffix that a result does not have is refused before anything is measured, with a list of the valid ones. If a result
has several tables, `--table NAME` (`save(path, table=NAME)`) chooses the one in a `.csv`, `.parquet` or `.md` file (a
`.md` file holds the page without it); `--chart NAME` chooses the chart in a `.png` or `.svg` file. A name with the
table or chart in it does the same: `all.blocks.csv`, `all.nodes.png`. So one run writes several.

`.xlsx` has a summary (answer, notes, conditions), then all tables, each as a sheet with filters and with units in its
numbers. `.csv` and `.parquet` hold plain numbers, with the unit in the name of the column (`time_ns`, `peak_bytes`).
Tables that add up end with a row of totals.

Pictures have 300 dots per inch, the answer as title and a caption from the data. `--width column` makes them 3.5 inches
wide instead of 7.2 (`save(path, width="column")`). They show the same data as the charts of the page, in the same order
and colors.

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
    suffixes = [f"| `{suffix}` | {each.holds} | {EXTRAS.get(suffix, '')} |" for suffix, each in COMMON.items()]
    commands = [_row(show) for show in sorted(shows().values(), key=_command)]
    return HEAD + "\n".join(suffixes) + "\n" + MIDDLE + "\n".join(commands) + "\n"


def _command(show: Show[Any]) -> str:
    return COMMANDS.get(show.record.__name__, show.kind)


def _row(show: Show[Any]) -> str:
    own = [f"`{suffix}`: {each.holds}" for suffix, each in show.own.items()]
    cells = [_command(show), ", ".join(show.tables), ", ".join(show.charts), "; ".join(own)]
    return f"| {' | '.join(cell or '–' for cell in cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
