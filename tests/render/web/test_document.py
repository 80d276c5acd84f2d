"""The HTML page as a file: what is in it, what may run in it, and what names can do to it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.render.charts.bars import Bars, BarSeries, bars
from onnxperf.render.charts.base import Axis, Chart, Filter, Layer, Picture, axis_of, chart
from onnxperf.render.charts.forest import Forest, Mark
from onnxperf.render.charts.matrix import Matrix, MatrixCell, MatrixLegend
from onnxperf.render.charts.plot import Plot, PlotMark, PlotSpan, Series
from onnxperf.render.charts.spans import SpanItem, Spans
from onnxperf.render.kit.column import NAME, NS, Column
from onnxperf.render.kit.page import Answer, Drawing, Flow, Heading, Line, Part, Section, Verbatim
from onnxperf.render.kit.table import Footer, Table, plain_table
from onnxperf.render.web.document import STATIC_ROWS, report_html
from onnxperf.render.web.markdown import report_markdown
from onnxperf.render.web.story import Story
from tests.render.examples import NASTY_NAMES

WEB = files("onnxperf.render.web")
Row = tuple[str, float]


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


def table(*rows: Row) -> Table[Row]:
    columns: list[Column[Row]] = [
        Column("name", "name", lambda row: row[0], NAME),
        Column("time_ns", "time", lambda row: row[1], NS),
    ]
    return Table(columns, rows)


def story(*parts: Part, topic: str = "model.onnx") -> Story:
    sections = [Section("Charts", parts), Section("More", [Line("The end.")], on="page")]
    return Story(
        "bench",
        topic,
        [Answer("It is fast.")],
        ["It was disturbed."],
        ["A note."],
        sections,
        ["2 threads"],
        command="onnxperf x",
    )


def pictures(name: str) -> list[Picture]:
    """One of every kind with this name in each of its texts."""
    axis = Axis(name, ticks=((0.0, name),))
    return [
        bars([name], [BarSeries(name, [1.0], [name])], name, keys=[name], legend=[(name, 0)]),
        Forest([Mark(name, 1.0, 1.0, 1.0, 0, name, name, name)], axis, 0.01),
        Matrix(name, name, [name], [name], [MatrixCell(0, 0, name, name, small=name)], [MatrixLegend(name)]),
        Plot(
            axis,
            axis,
            [Series(name, [0.5], [0.5], words=[name], keys=[name], labels=[name])],
            [PlotMark(0.5, 0.5, name, text=name)],
            [PlotSpan(0.0, 0.5, name, label=name)],
        ),
        Spans(axis, [name], [0.0], [1.0], [0], [0], [SpanItem(name, name, 0, [name])], [name], [0], [(name, 0)]),
    ]


def everything(name: str) -> list[Part]:
    """A part of every kind with this name in each of its texts."""
    behind = table((name, 1e6))
    return [
        Heading(name, [name]),
        Flow([name]),
        Line(name, "bold"),
        Verbatim(name),
        behind._replace(title=name, link=lambda row: row[0], footers=[Footer({"": name})]),
        *(chart(name, name, picture, behind) for picture in pictures(name)),
        Drawing(name, name, "<svg></svg>"),
    ]


def data_of(page: str) -> dict[str, Any]:
    """What the scripts of a page take."""
    found: dict[str, Any] = json.loads(
        next(text for _, attributes, text in Elements(page).inside if attributes.get("id") == "data")
    )
    return found


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
    assert len(report_html([story(table(("a", 1e6)))])) < 60_000


@pytest.mark.parametrize("name", NASTY_NAMES, ids=ascii)
def test_names_add_no_element_and_break_no_data(name: str) -> None:
    usual, nasty = (Elements(report_html([story(*everything(each), topic=each)])) for each in ("plain", name))
    assert [tag for tag, _ in nasty.tags] == [tag for tag, _ in usual.tags] or not name
    assert data_of(report_html([story(*everything(name))]))["charts"]


@given(st.text())
def test_no_text_becomes_markup(text: str) -> None:
    usual, other = (Elements(report_html([story(Line(f"x{each}"))])) for each in ("", text))
    assert [tag for tag, _ in usual.tags] == [tag for tag, _ in other.tags]


def test_long_tables_keep_their_further_rows_as_data() -> None:
    rows = [(f"node {number}", number * 1e6) for number in range(STATIC_ROWS + 5)]
    page = report_html([story(table(*rows)._replace(footers=[Footer({"": "total", "time_ns": 1e9})]))])
    (further,) = data_of(page)["tables"].values()
    assert len(further) == 5
    assert further[0][1][1] == ["300 ms", STATIC_ROWS * 1e6, "", ""]
    assert page.count("<tr") == 1 + STATIC_ROWS + 1
    assert ">total</td>" in page[page.index("<tfoot>") :]


def test_a_section_without_a_title_has_no_heading_and_no_entry_in_the_contents() -> None:
    page = report_html([story()._replace(sections=[Section("", [Line("loose")]), Section("Nodes", [Line("told")])])])
    assert '<p class="">loose</p>' in page
    assert re.findall(r"<h2>(.*?)</h2>", page) == ["Nodes", "Conditions"]
    assert re.findall(r'<a href="#[^"]*">(.*?)</a>', page[page.index("<nav") :]) == ["Nodes", "Conditions"]


def test_a_title_that_repeats_that_of_its_section_is_not_shown() -> None:
    drawn = Drawing("Graph", "Two nodes.", "<svg></svg>")
    page = report_html([story()._replace(sections=[Section("Graph", [drawn]), Section("Other", [drawn])])])
    assert re.findall(r"<figcaption(.*?)>", page) == [' class="unseen"', ""]


@pytest.mark.parametrize("values", [[1.0, float("nan")], [float("inf"), 1.0]], ids=str)
def test_what_is_no_number_in_json_becomes_null(values: list[float]) -> None:
    series = Series("x", range(2), values)
    plot = Plot(axis_of("x", [0.0, 1.0]), axis_of("y", [0.0, 1.0]), [series])
    (drawn,) = data_of(report_html([story(chart("", "", plot, table(("a", 1.0))))]))["charts"].values()
    assert drawn["data"]["series"][0]["xs"] == [0, 1]
    assert sorted(drawn["data"]["series"][0]["ys"], key=str) == [1.0, None]


def test_select_boxes_with_nothing_to_choose_are_left_out() -> None:
    one, other = (Bars([name], [BarSeries("", [1.0], ["1"])], Axis()) for name in ("one", "other"))
    filters = [Filter("model", ["m.onnx"], 0), Filter("case", ["a", "b"], 1)]
    layers = [Layer(one, {"model": "m.onnx", "case": "a"}), Layer(other, {"model": "m.onnx", "case": "b"})]
    (drawn,) = data_of(report_html([story(Chart("", "", layers, table(("a", 1.0)), filters))]))["charts"].values()
    assert [each["name"] for each in drawn["data"]["filters"]] == ["case"]
    assert [each["only"] for each in drawn["data"]["layers"]] == [{"case": "a"}, {"case": "b"}]
    assert [each["height"] for each in drawn["data"]["layers"]] == [one.height, other.height]
    (alone,) = data_of(report_html([story(Chart("", "", layers[:1], table(("a", 1.0)), filters[:1]))]))[
        "charts"
    ].values()
    assert alone["data"]["names"] == ["one"]


def test_facts_stand_below_the_title() -> None:
    page = report_html([story(topic="m")])
    assert page.index("<h1>m</h1>") < page.index(">2 threads</p>") < page.index("It is fast.")


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
    folder = WEB.joinpath("assets")
    scripts = [each for inside in (folder, folder.joinpath("charts")) for each in inside.iterdir() if each.is_file()]
    for script in (each for each in scripts if each.name.endswith(".js")):
        assert not _FORBIDDEN.findall(script.read_text(encoding="utf-8")), script.name


_FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|fetch\(|XMLHttp|import\("
)


def test_the_markdown_shows_what_a_console_shows_and_folds_the_rest() -> None:
    shown, details = plain_table(("what",), [("shown",)]), plain_table(("what",), [("folded",)])
    drawn = chart("Speeds", "Two of them.", pictures("x")[0], shown)
    sections = [
        Section("", [Line("loose")]),
        Section("Race", [drawn, details._replace(on="page")]),
        Section("Samples", [drawn], on="page"),
    ]
    text = report_markdown([story()._replace(sections=sections)])
    assert text.startswith(
        "## bench: model.onnx\n\n**It is fast.**\n\n> It was disturbed.\n\n2 threads\n\nloose\n\n### Race\n\n| what"
    )
    above, race, samples, conditions = text.split("<details><summary>")
    assert ("shown" in above, "folded" in above, "Two of them" in above) == (True, False, False)
    assert race.startswith("Race</summary>")
    assert "folded" in race
    assert samples.startswith("Samples</summary>\n\nSpeeds: Two of them.\n\n| what |")
    assert "A note." in conditions
    assert "onnxperf x" in conditions


@pytest.mark.parametrize("name", [name for name in NASTY_NAMES if "<" in name], ids=ascii)
def test_names_stay_text_in_markdown(name: str) -> None:
    text = report_markdown([story(*everything(name), topic=name)])
    outside = re.sub(r"(?s)```\n.*?```", "", text)
    assert "</script>" not in outside
