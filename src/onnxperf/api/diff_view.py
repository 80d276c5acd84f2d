"""`onnxperf.diff_view`: the graphs of two models, or of one under two variants, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onnxperf.analyze.graphs.attribution import attribute
from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.public import public
from onnxperf.api._shared.recordings import is_trace, only_ort_setup
from onnxperf.api._shared.requests import Settings, parse
from onnxperf.api.optimize import write_executed
from onnxperf.errors import BadOption
from onnxperf.measure.model_reader import outline_of, view_of
from onnxperf.model.opened import Model
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import DIFF_VIEW
from onnxperf.records.view import GraphView
from onnxperf.render.graph.diff_svg import diff_svg
from onnxperf.render.graph.png import graph_png
from onnxperf.results.view import ViewResult

_LEVELS = ["disable", "all"]
"""Of one model, if nothing else sets its sides apart."""


@public(DIFF_VIEW)
def diff_view(
    before: Source, after: Source | None = None, *, settings: Settings, given: Mapping[str, Any]
) -> ViewResult:
    """Draw two models with the nodes kept, fused, removed and added; nothing is run.

    Without `after`, the sides are one model as onnxruntime executes it with two values of a setting (the levels
    `disable` and `all` by default); two models are drawn as they are.
    """
    if any(is_trace(side) for side in (before, after)):
        raise BadOption("a trace has no graph to draw; give models")
    timeout_s = settings.limits.timeout
    first = open_source(before, timeout_s=timeout_s)
    if after is not None:
        refuse_useless(given, ("timeout",), "two models, which are drawn as they are")
        return _result(drawing_of(first, open_source(after, timeout_s=timeout_s)))
    if not given.get("variants") and "opt_level" not in given and len(settings.given) == 1:
        settings = parse({**given, "opt_level": _LEVELS}, DIFF_VIEW)
    if len(settings.given) != 2:
        raise BadOption("a diff has two sides: give two models, or one model and two values of a setting")
    return _result(drawing_of_executed(first, [settings.under(each) for each in settings.variants]))


class Drawing(NamedTuple):
    """Two graphs side by side."""

    before: GraphView
    svg: str


def drawing_of_executed(model: Model, sides: Sequence[Settings]) -> Drawing:
    """One model as onnxruntime executes it under each of two variants."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        opened = []
        for number, side in enumerate(sides):
            path = Path(folder, f"{number}.onnx")
            write_executed(model, only_ort_setup(side).session, path, side.limits)
            opened.append(open_source(path, f"{model.label} · {label_of(side)}", side.limits.timeout))
        return drawing_of(*opened)


def drawing_of(before: Model, after: Model) -> Drawing:
    """Two models as they are."""
    # A group calls nodes by the names that a view labels them with.
    groups = attribute(*(outline_of(model, named=True).graph for model in (before, after)))
    record = view_of(before)
    return Drawing(record, diff_svg(record, view_of(after), groups))


def label_of(side: Settings) -> str:
    """What sets a side apart from the other."""
    return side.given[0].label


def _result(drawing: Drawing) -> ViewResult:
    svg = drawing.svg
    return ViewResult(drawing.before, "svg", drawings={"svg": lambda: svg, "png": lambda: graph_png(svg)})
