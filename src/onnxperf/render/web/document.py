"""Reports as one HTML file: styles, scripts and data inside, and a policy that blocks everything else."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from onnxperf.render.charts.base import DARK, LIGHT, Chart, Layer
from onnxperf.render.kit.column import Cell
from onnxperf.render.kit.comparison import VERDICT_STYLES
from onnxperf.render.kit.documents import compact_json
from onnxperf.render.kit.html import sentence_html
from onnxperf.render.kit.page import (
    Answer,
    Drawing,
    Flow,
    Heading,
    Line,
    Panes,
    Section,
    Shares,
    Tabs,
    Verbatim,
)
from onnxperf.render.kit.table import Table, grid_of
from onnxperf.render.web.story import Story
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import percent

BRIEF = 6
"""Columns of a table that a page shows at once; a button shows all, and a selected row all of its values."""
ON_PHONES = 4
"""The same on a phone."""
STATIC_ROWS = 300
"""Rows of a table that are in the page itself; further ones are made by the script when they are wanted."""
_LIBRARY = "vendor/echarts.min.js"
_HERE = files(__package__)


class PageFrame(NamedTuple):
    """The server that shows a page."""

    links: Sequence[tuple[str, str]]
    """Words and addresses of its other pages; the first is its start."""
    facts: Sequence[str] = ()
    """What it knows about what is shown."""
    library: str = ""
    """Address of the chart library [default: it is in the page]."""


class WebPage(NamedTuple):
    """A page, and what it allows itself to run and load."""

    html: str
    policy: str
    """The same as in the page, for the header of a server."""


def report_html(stories: Sequence[Story], title: str = "") -> str:
    """The whole page."""
    return report_page(stories, title).html


def report_page(stories: Sequence[Story], title: str = "", site: PageFrame | None = None) -> WebPage:
    """The same with its policy; `site` is where a server shows it."""
    build = _Build()
    told = [build.story(story) for story in stories]
    title = title or " · ".join(f"{each.kind} {visible(each.topic)}" for each in stories)
    names = build.scripts()
    served = [site.library] if site and site.library and _LIBRARY in names else []
    scripts = [asset(name) for name in names if not served or name != _LIBRARY]
    style = report_style()
    policy = policy_of([style], scripts, own_scripts=bool(served))
    html: str = (
        templates()
        .get_template("report.html")
        .render(
            title=f"{title} · onnxperf",
            stories=told,
            site=site,
            style=style,
            served=served,
            scripts=scripts,
            data=_json({"charts": build.charts, "tables": build.tables, "groups": list(build.groups)}),
            policy=policy,
        )
    )
    return WebPage(html, policy)


def policy_of(styles: Sequence[str], scripts: Sequence[str], forms: str = "'none'", own_scripts: bool = False) -> str:
    """Only these styles and scripts, no connection, no frame; pictures only from the page itself; forms to nowhere.

    With `own_scripts`, script files of the same server, too.
    """
    allowed_scripts = [*(["'self'"] if own_scripts else []), *map(_source_hash, scripts)]
    allowed = {
        "default-src": "'none'",
        "script-src": " ".join(allowed_scripts) or "'none'",
        "style-src": " ".join(map(_source_hash, styles)),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": forms,
    }
    return "; ".join(f"{name} {value}" for name, value in allowed.items())


@cache
def report_style() -> str:
    """The style of pages, with the colors of charts: the same as in files, for a light and for a dark page."""
    style = asset("report.css")
    for theme, colors in {"LIGHT": LIGHT, "DARK": DARK}.items():
        for place, color in enumerate(colors):
            style = style.replace(f"{theme}{place};", f"{color};")
    return style


@cache
def _source_hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(value: object) -> str:
    """Data that is safe inside a script element."""
    text = compact_json(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def asset(name: str) -> str:
    """A style or a script of reports."""
    return _HERE.joinpath(name if name.startswith("vendor/") else f"assets/{name}").read_text(encoding="utf-8")


@cache
def templates(package: str = __package__) -> Any:
    """The templates in the assets of a package: everything is escaped, and what is missing is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    found = Environment(
        loader=PackageLoader(package, "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals["ours"] = Markup  # only for what was made by us: assets, drawings, and data as JSON
    found.globals["sentence"] = sentence_html  # escapes, too
    return found


@dataclass
class _Build:
    """Parts as the template takes them, and what its scripts need besides."""

    charts: dict[str, object] = field(default_factory=dict)
    tables: dict[str, object] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)
    drawings: int = 0
    groups: dict[str, int] = field(default_factory=dict)
    """What rows of tables belong to, by its place."""
    has_shares: bool = False
    _ids: int = 0

    def scripts(self) -> list[str]:
        """The files that this page needs, in their order."""
        charts = [f"charts/{kind}.js" for kind in sorted(self.kinds)]
        return [
            *([_LIBRARY] if charts else []),
            "report.js",
            "figures.js",
            "tables.js",
            "tabs.js",
            *(["shares.js"] if self.has_shares else []),
            *(["charts.js", "axes.js", "filters.js", *charts] if charts else []),
            *(["drawing.js"] if self.drawings else []),
            "start.js",
        ]

    def story(self, story: Story) -> dict[str, object]:
        """A report with the ids of its sections."""
        sections = [
            {
                "id": self._id("section"),
                "title": visible(each.title),
                "folded": each.folded,
                "parts": list(self._parts(each)),
            }
            for each in story.sections
        ]
        answers = [_answer(each) for each in story.answers]
        texts: dict[str, Sequence[str]] = {"warnings": story.warnings, "notes": story.notes}
        return {
            "id": self._id("story"),
            "kind": story.kind,
            "topic": visible(story.topic),
            "facts": _facts(story.facts),
            "machine": [(name, visible(text)) for name, text in story.machine],
            "command": visible(story.command),
            "snippet": "\n".join(map(visible, story.snippet.splitlines())),
            "answers": answers,
            "sections": [each for each in sections if each["parts"]],
            **{name: [visible(text) for text in several] for name, several in texts.items()},
        }

    def _parts(self, section: Section) -> Iterator[dict[str, object]]:
        for part in section.parts:
            made = self._part(part)
            if made:
                # What screens show is not folded away on a page.
                yield {**made, "open": "page" not in (section.on, getattr(part, "on", ""))}

    def _part(self, part: Any) -> dict[str, object]:
        return _DRAWN[type(part)](self, part)

    def _several(self, part: Tabs | Panes) -> dict[str, object]:
        parts = [made for each in part.parts if (made := self._part(each))]
        return {"type": type(part).__name__.lower(), "parts": parts} if parts else {}

    def _heading(self, part: Heading) -> dict[str, object]:
        return {"type": "heading", "text": visible(name_of(part.name)), "facts": _facts(part.facts)}

    def _flow(self, part: Flow) -> dict[str, object]:
        return {"type": "flow", "facts": _facts(part.parts)}

    def _line(self, part: Line) -> dict[str, object]:
        return {"type": "line", "text": visible(part.text), "style": part.style} if part.text else {}

    def _verbatim(self, part: Verbatim) -> dict[str, object]:
        return {"type": "verbatim", "text": "\n".join(map(visible, part.text.split("\n")))}

    def _table(self, part: Table[Any]) -> dict[str, object]:
        grid = grid_of(part)
        if not grid.lines:
            return {}
        lines = [
            (visible(line.link), [_cell(cell, line.style) for cell in line.cells], self._groups(line.groups))
            for line in grid.lines
        ]
        rows, below = lines[: len(part.rows)], lines[len(part.rows) :]
        name = self._id("table")
        if len(rows) > STATIC_ROWS:
            self.tables[name] = [
                (key, [_compact(*cell) for cell in cells], groups) for key, cells, groups in rows[STATIC_ROWS:]
            ]
        brief, narrow = grid.brief(BRIEF), grid.brief(ON_PHONES, figures=False)
        columns = [
            {"heading": visible(each.heading), "look": _look(each.left, place not in brief, place not in narrow)}
            for place, each in enumerate(grid.columns)
        ]
        return {
            "type": "table",
            "id": name,
            "title": visible(part.title),
            "summary": "",
            "columns": columns,
            "rows": rows[:STATIC_ROWS],
            "below": below,
            "number": len(rows),
        }

    def _groups(self, groups: Sequence[str]) -> str:
        """Their places in the list of the page: hundreds of rows may belong to the same."""
        return " ".join(str(self.groups.setdefault(visible(group), len(self.groups))) for group in groups)

    def _shares(self, part: Shares) -> dict[str, object]:
        self.has_shares = True
        parts = [
            {
                "name": visible(each.name),
                "words": " · ".join([visible(each.name), each.amount, percent(each.share)]),
                "percent": percent(each.share),
                "share": f"{each.share:.6g}",
                "color": each.color,
                "link": visible(each.link),
            }
            for each in part.parts
        ]
        return {"type": "shares", "id": self._id("shares"), "title": visible(part.title), "parts": parts}

    def _chart(self, part: Chart) -> dict[str, object]:
        if part.is_in_rows:
            table = self._table(part.table)
            return {**table, "title": visible(part.title), "summary": visible(part.summary)} if table else {}
        name = self._id("chart")
        self.kinds |= {part.kind, *part.layers[0].picture.uses}
        self.charts[name] = {"kind": part.kind, "summary": visible(part.summary), "data": _chart_data(part)}
        return {
            "type": "chart",
            "id": name,
            "title": visible(part.title),
            "summary": visible(part.summary),
            "height": part.height,
            "table": self._table(part.table),
        }

    def _drawing(self, part: Drawing) -> dict[str, object]:
        self.drawings += 1
        texts = {"title": visible(part.title), "summary": visible(part.summary), "svg": part.svg}
        return {"type": "drawing", "id": self._id("drawing"), **texts}

    def _id(self, what: str) -> str:
        self._ids += 1
        return f"{what}-{self._ids}"


_DRAWN: Mapping[type, Callable[[_Build, Any], dict[str, object]]] = {
    Heading: _Build._heading,
    Flow: _Build._flow,
    Line: _Build._line,
    Verbatim: _Build._verbatim,
    Table: _Build._table,
    Chart: _Build._chart,
    Drawing: _Build._drawing,
    Shares: _Build._shares,
    Tabs: _Build._several,
    Panes: _Build._several,
}


def _answer(answer: Answer) -> dict[str, object]:
    amount = [visible(text) for text in answer.amount if text]
    return {"text": visible(answer.shown), "amount": amount, "style": VERDICT_STYLES.get(answer.verdict, "")}


def _facts(parts: Sequence[str]) -> list[str]:
    return [visible(text) for text in parts if text]


def _cell(cell: Cell, style: str) -> tuple[str, float | None, str, str]:
    """Text, the number to sort by, the style, and what is drawn in its place: shapes with their ends in percent."""
    value = cell.value[0] if isinstance(cell.value, tuple) and cell.value else cell.value
    number = float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    marks = ";".join(f"{each.shape} {100 * each.start:.4g} {100 * each.end:.4g}" for each in cell.figure.marks)
    return visible(cell.text), number, f"{style} {cell.style}".strip(), marks


def _look(is_left: bool, is_extra: bool, is_wide: bool) -> str:
    """The classes of a column's cells."""
    return " ".join(name for name, has in {"left": is_left, "extra": is_extra, "wide": is_wide}.items() if has)


def _chart_data(part: Chart) -> dict[str, object]:
    """What a script draws: one picture, or several with select boxes."""
    offered = [each for each in part.filters if len(each.values) > 1]
    if not offered:
        return _picture(part.layers[0])
    names = {each.name for each in offered}
    layers = [
        {
            "only": {n: v for n, v in each.only.items() if n in names},
            "height": each.picture.height,
            **_picture(each),
        }
        for each in part.layers
    ]
    return {"filters": [each._asdict() for each in offered], "layers": layers}


def _picture(layer: Layer) -> dict[str, object]:
    return msgspec.to_builtins(layer.picture, enc_hook=list)  # type: ignore[no-any-return]


def _compact(text: str, value: float | None, style: str, marks: str) -> str | tuple[str, float | None, str, str]:
    """A cell as the script takes it: of most, only the text."""
    return text if value is None and not style and not marks else (text, value, style, marks)
