"""`onnxperf.view`: a model as a listing, JSON, dot, a drawing or Python code, with what its nodes cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack, get_args

from onnxperf.analyze.view_metrics import memory_metrics, time_metrics
from onnxperf.api.crews import Source, located
from onnxperf.api.options import InputKeywords, check_keywords, input_options
from onnxperf.api.profile import Events, is_events, is_trace
from onnxperf.api.profile import profile as measure
from onnxperf.errors import BadOption
from onnxperf.measure.profiling import Progress
from onnxperf.model.load import Model, open_model
from onnxperf.model.shapes import settle
from onnxperf.model.view import view_of
from onnxperf.records.view import GraphView, Measure, Metrics
from onnxperf.results.profile import ProfileResult
from onnxperf.results.view import Form, ViewResult

Profiled = bool | str | Path | Events | ProfileResult | None


def view(  # noqa: PLR0913 - one keyword per option of the command
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    as_: Form = "text",
    values: bool = False,
    all: bool = False,
    around: str | None = None,
    op: str | None = None,
    depth: int | None = None,
    profile: Profiled = None,
    by: Measure = "time",
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[InputKeywords],
) -> ViewResult:
    """Show a model; `str()` of what is returned is the text, and a notebook shows the picture.

    `as_` is text, json, dot, svg, png or code (what the numpy runtime runs). A listing folds long models; `all` shows
    everything, `around` the neighbours of a node, `op` the nodes of one type, `depth` limits how far bodies are shown.
    `values` adds the values of all tensors. `profile=True` profiles the model now and puts the time on its nodes; a
    result of `onnxperf.profile` or a trace does the same without running it; `by="memory"` shows memory instead.
    `dims` and `shapes` settle free sizes.
    """
    check_keywords(keywords, InputKeywords)
    if as_ not in get_args(Form):
        raise BadOption.unknown("form", as_, get_args(Form))
    if by not in get_args(Measure):
        raise BadOption.unknown("measure", by, get_args(Measure))
    if depth is not None and depth < 0:
        raise BadOption(f"--depth {depth}: expected 0 or more")
    place = located(model)
    opened = open_model(place, model if place is not model and isinstance(model, str) else None)
    record = view_of(opened, values, _settled(opened, keywords))
    if op is not None and op not in (names := {name.rpartition("::")[2] for name in record.totals.operators}):
        raise BadOption.unknown("operator", op, sorted(names))
    profiled = _profiled(model, feeds, profile, progress, keywords)
    metrics = _metrics(profiled, record, by) if profiled is not None else None
    listing = {"all": all, "around": around, "op": op, "depth": depth}
    content = _FORMS[as_](record, metrics, opened, listing)
    return ViewResult(record, as_, content, metrics)


def _settled(model: Model, keywords: InputKeywords) -> dict[str, tuple[int, ...]] | None:
    """Shapes of the inputs, if somebody gave sizes."""
    if not keywords.get("dims") and not keywords.get("shapes"):
        return None
    tensors = [each for each in model.inputs if each.kind == "tensor"]
    return dict(settle(tensors, input_options(keywords), {}).shapes)


def _profiled(
    model: Source, feeds: Mapping[str, Any] | None, wanted: Profiled, progress: Progress, keywords: InputKeywords
) -> ProfileResult | None:
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return measure(model, feeds, progress=progress, **keywords)
    if isinstance(wanted, ProfileResult):
        return wanted
    if not is_events(wanted) and not is_trace(wanted):
        raise BadOption(f"{str(wanted)!r} is no trace; give the .json file that onnxruntime wrote")
    return measure(wanted)


def _metrics(profiled: ProfileResult, record: GraphView, by: Measure) -> Metrics:
    if by == "time":
        return time_metrics(profiled.record, record)
    return memory_metrics(profiled.memory().record.nodes, profiled.record, record)


# ---------------------------------------------------------------- forms


def _text(view: GraphView, metrics: Metrics | None, _model: Model, listing: dict[str, Any]) -> str:
    from onnxperf.render.graph_text import graph_text

    return graph_text(view, metrics=metrics, **listing)


def _json(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph_json import graph_json

    return graph_json(view, metrics)


def _dot(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph_dot import graph_dot

    return graph_dot(view, metrics)


def _svg(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph_svg import graph_svg

    return graph_svg(view, metrics)


def _png(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> bytes:
    from onnxperf.render.graph_png import graph_png
    from onnxperf.render.graph_svg import graph_svg

    return graph_png(graph_svg(view, metrics, interactive=False))


def _code(_view: GraphView, _metrics: Metrics | None, model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.api.load import load

    return load(model.path, runtime="numpy").source


_FORMS: dict[Form, Callable[[GraphView, Metrics | None, Model, dict[str, Any]], str | bytes]] = {
    "text": _text,
    "json": _json,
    "dot": _dot,
    "svg": _svg,
    "png": _png,
    "code": _code,
}
