"""A model made visible: a text or a picture that shows itself, with the record behind it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from html import escape
from typing import Literal

from onnxperf.analyze.answers.limits import limits_of
from onnxperf.errors import BadOption
from onnxperf.records.runs import RunStatus
from onnxperf.records.view import GraphView
from onnxperf.render.graph.netron import graph_netron, nameless
from onnxperf.render.graph.png import graph_png, require_resvg
from onnxperf.render.graph.script import NOTEBOOK_HEIGHT
from onnxperf.render.graph.text import Listing, graph_listing, graph_text
from onnxperf.render.kit.documents import to_json
from onnxperf.render.kit.page import INTERRUPTED, Answer, Line, Page, Part, Section
from onnxperf.render.web.story import Story, story_of
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count

Form = Literal["text", "json", "dot", "svg", "png", "code"]
Drawings = Mapping[Form, Callable[[], str | bytes]]
"""Functions that draw a model, by the form that they make."""
SUFFIXES: dict[Form, str] = {
    "text": ".txt",
    "json": ".json",
    "dot": ".dot",
    "svg": ".svg",
    "png": ".png",
    "code": ".py",
}
NETRON = ".netron.json"


def drawings_of(record: GraphView, listing: Listing) -> Drawings:
    """The forms of a model that need nothing but its record."""
    return {
        "text": partial(graph_text, record, listing),
        "json": lambda: to_json(record).decode(),
        "dot": partial(_dot, record),
        "svg": partial(_svg, record),
        "png": lambda: graph_png(_svg(record, interactive=False)),
    }


# Imported where they draw: most views are listings.


def _dot(record: GraphView) -> str:
    from onnxperf.render.graph.dot import graph_dot

    return graph_dot(record, record.metrics)


def _svg(record: GraphView, interactive: bool = True) -> str:
    from onnxperf.render.graph.svg import graph_svg

    return graph_svg(record, record.metrics, interactive=interactive)


def _format(holds: str, form: Form, requires: Callable[[], object] | None = None) -> Format:
    return Format(holds, lambda view, _: view.in_form(form), requires=requires, binary=form == "png")


SHOW = Show(
    GraphView,
    "view",
    lambda record: [graph_listing(record, Listing(metrics=record.metrics))],
    own={
        ".txt": _format("the listing", "text"),
        ".dot": _format("the graph for Graphviz", "dot"),
        ".svg": _format("a drawing", "svg"),
        ".png": _format("a drawing", "png", require_resvg),
        ".py": _format("the code that the numpy runtime runs", "code"),
        NETRON: Format("what the nodes cost, to drop onto the model in Netron", lambda view, _: view.netron().encode()),
    },
)


class ViewResult(Result[GraphView]):
    """What `onnxperf.view` returns: `str()` is the text, a notebook shows the picture, `save` writes any form."""

    show = SHOW

    def __init__(
        self,
        record: GraphView,
        form: Form = "text",
        listing: Listing | None = None,
        drawings: Drawings | None = None,
        interrupted: bool = False,
    ) -> None:
        super().__init__(record)
        self.form = form
        self._listing = listing or Listing(metrics=record.metrics)
        self._drawings = drawings_of(record, self._listing) if drawings is None else drawings
        self._interrupted = interrupted

    @cached_property
    def content(self) -> str | bytes:
        """The model in the requested form."""
        return self._draw(self.form)

    @property
    def answer(self) -> str:
        """The model in one line: its nodes, parameters and multiply-adds."""
        return graph_text(self.record).partition("\n")[0]

    @property
    def status(self) -> RunStatus:
        """Interrupted where the profile was stopped before its end."""
        return "interrupted" if self._interrupted else "ok"

    def page(self) -> Page:
        """The listing."""
        return [graph_listing(self.record, self._listing) if "text" in self._drawings else Line(repr(self))]

    def story(self) -> Story:
        """The drawing and the nodes above the listing: a console needs neither, and they take their time."""
        interrupted: list[Part] = [INTERRUPTED] if self._interrupted else []
        drawn = self._drawn_sections()
        page = [*interrupted, Answer(self.answer), *drawn, Section("Listing", self.page(), folded=bool(drawn))]
        return story_of(self.record, self.kind, self.topic, limits_of(self.record), page)

    def _drawn_sections(self) -> list[Section]:
        """A drawing of two models is not on a page."""
        if "text" not in self._drawings:
            return []
        from onnxperf.analyze.graphs.view_metrics import folded_keys
        from onnxperf.render.graph.section import view_sections

        return view_sections(self.record, folded_keys(self.record.metrics))

    def in_form(self, form: Form) -> bytes:
        """The model in one of its forms, as a file holds it."""
        content = self.content if form == self.form else self._draw(form)
        return content.encode() if isinstance(content, str) else content

    def netron(self) -> str:
        """What the nodes cost, as a file to drop onto the model in Netron."""
        if self.record.metrics is None:
            raise BadOption("only a view with a profile has metrics for Netron; use `profile`")
        return graph_netron(self.record, self.record.metrics)

    @property
    def nameless(self) -> int:
        """How many nodes with a cost have no name of their own: Netron cannot find them."""
        return nameless(self.record, self.record.metrics) if self.record.metrics is not None else 0

    def _draw(self, form: Form) -> str | bytes:
        if form not in self._drawings:
            raise BadOption.unknown("form", form, self._drawings, option="as_")
        return self._drawings[form]()

    def __str__(self) -> str:
        """The text; of a PNG only its size."""
        if isinstance(self.content, str):
            return self.content
        return f"PNG of {name_of(self.record.model)}, {count(len(self.content), 'byte')}"

    def __repr__(self) -> str:
        """The same as the text; of an SVG only its size."""
        if self.form == "svg":
            return f"SVG of {name_of(self.record.model)}, {count(len(self.content), 'character')}"
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        if isinstance(self.content, bytes):
            encoded = base64.b64encode(self.content).decode()
            return _window(f'<img src="data:image/png;base64,{encoded}" alt="graph" style="max-width:100%">')
        if self.form == "json":
            from onnxperf.render.graph.json_tree import json_tree

            return _window(json_tree(self.content))
        return _window(self.content if self.form == "svg" else f"<pre>{escape(self.content)}</pre>")


def _window(picture: str) -> str:
    """What is long takes a part of the page, and scrolls in there."""
    return f'<div style="max-width:100%;max-height:{NOTEBOOK_HEIGHT}px;overflow:auto">{picture}</div>'
