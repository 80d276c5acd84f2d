"""`onnxperf.diff_view`: the graphs of two models, or of one at two optimisation levels, side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Unpack, cast, get_args

from onnxperf.analyze.graphs.attribution import attribute
from onnxperf.api._shared.opening import Source, located, open_source
from onnxperf.api._shared.reading import outline_of, view_of
from onnxperf.api._shared.recordings import is_trace
from onnxperf.api._shared.requests import RuntimeKeywords, names_in, parse
from onnxperf.api.optimize import optimize
from onnxperf.errors import BadOption
from onnxperf.model.opened import Model
from onnxperf.records.options import OptLevel
from onnxperf.render.graph.diff_svg import diff_svg
from onnxperf.render.graph.png import graph_png
from onnxperf.results.view import ViewResult

Picture = Literal["svg", "png"]


def diff_view(
    before: Source,
    after: Source | None = None,
    *,
    opt_level: str | Sequence[str] | None = None,
    as_: Picture = "svg",
    **keywords: Unpack[RuntimeKeywords],
) -> ViewResult:
    """Draw two models with what was kept, fused, removed and added; nothing is run.

    Without `after`, one model as onnxruntime executes it at each of two levels (`disable,all` unless given); two models
    are drawn as they are.
    """
    parse(keywords, RuntimeKeywords)
    if as_ not in get_args(Picture):
        raise BadOption.unknown("form", as_, get_args(Picture), option="as_")
    if any(is_trace(side) for side in (before, after)):
        raise BadOption("a trace has no graph to draw; give models")
    if after is not None:
        if opt_level is not None:
            raise BadOption("two models are drawn as they are; leave out `opt_level`, or give one model")
        return _drawn(open_source(before), open_source(after), as_)
    levels = names_in(opt_level or "disable,all")
    if len(levels) != 2:
        raise BadOption("a diff has two sides: give two models, or one model and two levels in `opt_level`")
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        sides = [Path(folder, f"{level}.onnx") for level in levels]
        for path, level in zip(sides, levels, strict=True):
            optimize(located(before), path, **keywords, opt_level=cast("OptLevel", level))
        name = open_source(before).label
        first, second = (open_source(path, f"{name} · {path.stem}") for path in sides)
        return _drawn(first, second, as_)


def _drawn(before: Model, after: Model, form: Picture) -> ViewResult:
    # A group calls nodes by the names that a view labels them with.
    groups = attribute(*(outline_of(model, named=True).graph for model in (before, after)))
    record = view_of(before)
    drawing = diff_svg(record, view_of(after), groups)
    return ViewResult(record, form, drawings={"svg": lambda: drawing, "png": lambda: graph_png(drawing)})
