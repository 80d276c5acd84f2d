"""The HTML page as a file: what is in it, what may run in it, and what names can do to it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Flow, Heading, Line, Verbatim
from onnxperf.render.web.document import STATIC_ROWS, report_html
from onnxperf.render.web.markdown import report_markdown
from onnxperf.render.web.old_base import Chart, Drawing, LinkedTable, Part, Section, Story
from tests.render.examples import NASTY_NAMES

WEB = files("onnxperf.render.web")


class Elements(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, dict[str, str | None], str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.inside.append((*self.tags[-1], data))
            self.tags.append(("", {}))


def table(*rows: tuple[str, str]) -> Table:
    return Table([Column("name", left=True), Column("time")], [Row(row) for row in rows])


def story(*parts: Part, topic: str = "model.onnx") -> Story:
    sections = [Section("Charts", parts), Section("Details", [Line("The end.")])]
    return Story("bench", topic, ["It is fast."], ["It was disturbed."], ["A note."], sections, command="onnxperf x")


def everything(name: str) -> list[Part]:
    """A part of every kind with this name in each of its texts."""
    behind = table((name, "1 ms"))
    chart = Chart("forest", name, name, {"marks": [{"name": name}], "effect": 0.01, "axis": name}, behind)
    return [
        Heading(name, [name]),
        Flow([name]),
        Line(name, "bold"),
        Verbatim(name),
        behind,
        LinkedTable(behind, [name]),
        chart,
        Drawing(name, name, "<svg></svg>"),
    ]


def hashes(page: str, tag: str) -> set[str]:
    texts = [
        text
        for name, attributes, text in Elements(page).inside
        if name == tag and attributes.get("type") != "application/json"
    ]
    return {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts}


def policy(page: str) -> dict[str, str]:
    found = next(a for tag, a in Elements(page).tags if a.get("http-equiv") == "Content-Security-Policy")
    return dict(rule.split(" ", 1) for rule in str(found["content"]).split("; "))


def test_only_the_scripts_and_styles_of_the_page_may_run() -> None:
    page = report_html([story(*everything("x"))])
    rules = policy(page)
    assert rules["default-src"] == "'none'"
    assert set(rules["script-src"].split()) == hashes(page, "script")
    assert set(rules["style-src"].split()) == hashes(page, "style")


def test_nothing_is_loaded_from_elsewhere() -> None:
    loading = {"src", "srcset", "href", "xlink:href", "action", "data"}
    for tag, attributes in Elements(report_html([story(*everything("x"))])).tags:
        for name in loading & attributes.keys():
            assert str(attributes[name]).startswith("#"), (tag, attributes)
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)


def test_a_page_without_charts_does_not_carry_the_chart_library() -> None:
    assert len(report_html([story(table(("a", "1 ms")))])) < 60_000


@pytest.mark.parametrize("name", NASTY_NAMES, ids=ascii)
def test_names_add_no_element_and_break_no_data(name: str) -> None:
    usual, nasty = (Elements(report_html([story(*everything(each), topic=each)])) for each in ("plain", name))
    assert [tag for tag, _ in nasty.tags] == [tag for tag, _ in usual.tags] or not name
    data = next(text for _, attributes, text in nasty.inside if attributes.get("id") == "data")
    assert json.loads(data)["charts"]


@given(st.text())
def test_no_text_becomes_markup(text: str) -> None:
    usual, other = (Elements(report_html([story(Line(f"x{each}"))])) for each in ("", text))
    assert [tag for tag, _ in usual.tags] == [tag for tag, _ in other.tags]


def test_long_tables_keep_their_further_rows_as_data() -> None:
    rows = [(f"node {number}", f"{number} ms") for number in range(STATIC_ROWS + 5)]
    page = report_html([story(table(*rows))])
    data = json.loads(next(text for _, attributes, text in Elements(page).inside if attributes.get("id") == "data"))
    (further,) = data["tables"].values()
    assert len(further) == 5
    assert further[0][1][1] == [f"{STATIC_ROWS} ms", STATIC_ROWS * 1e6, ""]
    assert page.count("<tr") == STATIC_ROWS + 1


def test_what_is_no_number_in_json_becomes_null() -> None:
    chart = Chart("forest", "", "", {"value": float("nan")}, table(("a", "1")))
    assert '"data":{"value":null}' in report_html([story(chart)])


def test_every_chart_has_a_table_and_a_summary() -> None:
    page = report_html([story(*everything("speed"))])
    figure = page[page.index('<figure class="chart"') :]
    assert 'role="img" aria-label="speed"' in figure
    assert "<summary>Numbers</summary>" in figure


def test_the_vendored_library_is_the_one_that_its_page_names() -> None:
    found = hashlib.sha256(WEB.joinpath("vendor/echarts.min.js").read_bytes()).hexdigest()
    assert f"`{found}`" in WEB.joinpath("vendor/README.md").read_text(encoding="utf-8")
    assert "Apache License" in WEB.joinpath("vendor/echarts.LICENSE").read_text(encoding="utf-8")


def test_scripts_make_no_markup_of_texts() -> None:
    for name in ("report", "tables", "charts", "drawing", "start"):
        assert not _FORBIDDEN.findall(WEB.joinpath(f"assets/{name}.js").read_text(encoding="utf-8"))
    for script in WEB.joinpath("assets/old_charts").iterdir():
        assert not _FORBIDDEN.findall(script.read_text(encoding="utf-8")), script.name


_FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(|XMLHttp|import\("
)


def test_the_markdown_tells_the_same_story() -> None:
    text = report_markdown([story(*everything("speed"))])
    assert text.startswith("## bench: model.onnx\n\n**It is fast.**\n\n> It was disturbed.\n\nThe end.")
    assert "<details><summary>Charts</summary>" in text
    assert "| speed | 1 ms |" in text
    assert "onnxperf x" in text


@pytest.mark.parametrize("name", [name for name in NASTY_NAMES if "<" in name], ids=ascii)
def test_names_stay_text_in_markdown(name: str) -> None:
    text = report_markdown([story(*everything(name), topic=name)])
    outside = re.sub(r"(?s)```\n.*?```", "", text)
    assert "</script>" not in outside
