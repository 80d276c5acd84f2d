"""`onnxperf.view`: a model as a listing, JSON, dot, a drawing or Python code, with what its nodes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack, get_args

from onnxperf.analyze.view_metrics import memory_metrics, time_metrics, with_lines_of
from onnxperf.api._shared.recordings import Events, is_events, is_trace
from onnxperf.api._shared.requests import InputKeywords, check_keywords, input_options
from onnxperf.api._shared.subjects import Source, open_source
from onnxperf.api.profile import profile as measure
from onnxperf.errors import BadOption
from onnxperf.measure.profiling import Progress
from onnxperf.model.load import Model
from onnxperf.model.shapes import Settled, settle
from onnxperf.model.view import view_of
from onnxperf.records import Signature
from onnxperf.records.view import Dims, GraphView, Measure, Metrics
from onnxperf.results.profile import ProfileResult
from onnxperf.results.view import Form, ViewResult
from onnxperf.wording.names import visible

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
    `values` adds the values of all tensors to the JSON. `profile=True` profiles the model now and puts the time on its
    nodes; a result of `onnxperf.profile` or a trace does the same without running it; `by="memory"` shows memory
    instead. `dims` and `shapes` settle free sizes. Multiply-adds count every body once, however often it runs.
    """
    check_keywords(keywords, InputKeywords)
    listing = {"all": all, "around": around, "op": op, "depth": depth}
    _check(as_, listing, values, by, profile)
    opened = open_source(model)
    record = view_of(opened, values, _settled(opened, keywords))
    if op is not None and op not in (names := {name.rpartition("::")[2] for name in record.totals.operators}):
        raise BadOption.unknown("operator", op, map(visible, sorted(names)))
    profiled = _profiled(model, feeds, profile, progress, keywords)
    if profiled is None:
        return ViewResult(record, as_, _FORMS[as_](record, None, opened, listing))
    metrics = _metrics(profiled, record, by)
    return ViewResult(
        record, as_, _FORMS[as_](record, metrics, opened, listing), metrics, interrupted=profiled.record.interrupted
    )


def _check(form: Form, listing: Mapping[str, Any], values: bool, by: Measure, profile: Profiled) -> None:
    """Refuse what does not exist, and what would do nothing."""
    if form not in get_args(Form):
        raise BadOption.unknown("form", form, get_args(Form))
    if by not in get_args(Measure):
        raise BadOption.unknown("measure", by, get_args(Measure))
    if listing["depth"] is not None and listing["depth"] < 0:
        raise BadOption(f"--depth {listing['depth']}: expected 0 or more")
    given = [name for name, value in listing.items() if value is not None and value is not False]
    if given and form != "text":
        raise BadOption(f"--{given[0]} chooses what a listing shows; leave it out, or show the model as text")
    if values and form != "json":
        raise BadOption("--values go into the JSON; add --as json")
    if by != "time" and (profile is None or profile is False):
        raise BadOption(f"--by {by} is what a profile shows; add --profile")


def _settled(model: Model, keywords: InputKeywords) -> dict[str, Dims] | None:
    """Shapes of the inputs, if somebody gave sizes; those that nobody gave stay as they are."""
    if not keywords.get("dims") and not keywords.get("shapes"):
        return None
    options = input_options(keywords)
    ranked = [each for each in model.inputs if each.shape is not None or each.name in options.shapes]
    tensors = [each for each in ranked if each.kind == "tensor"]
    settled = settle(tensors, options, {})
    return {each.name: tuple(_sizes(each, settled)) for each in tensors}


def _sizes(signature: Signature, settled: Settled) -> Iterator[int | str | None]:
    sizes = settled.shapes[signature.name]
    for axis, (declared, size) in enumerate(zip(signature.shape or sizes, sizes, strict=True)):
        is_free = declared in settled.unset or (declared is None and f"{signature.name}.{axis}" in settled.unset)
        yield declared if is_free else size


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
    """What colours the nodes; their tooltips tell both time and memory, where the trace knows both."""
    time = time_metrics(profiled.record, record)
    try:
        memory = memory_metrics(profiled.memory().record.nodes, profiled.record, record)
    except BadOption:
        if by == "memory":
            raise
        return time
    return with_lines_of(memory, time) if by == "memory" else with_lines_of(time, memory)


# ---------------------------------------------------------------- forms


def _text(view: GraphView, metrics: Metrics | None, _model: Model, listing: dict[str, Any]) -> str:
    from onnxperf.render.graph.text import graph_text

    return graph_text(view, metrics=metrics, **listing)


def _json(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph.json import graph_json

    return graph_json(view, metrics)


def _dot(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph.dot import graph_dot

    return graph_dot(view, metrics)


def _svg(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> str:
    from onnxperf.render.graph.svg import graph_svg

    return graph_svg(view, metrics)


def _png(view: GraphView, metrics: Metrics | None, _model: Model, _listing: dict[str, Any]) -> bytes:
    from onnxperf.render.graph.png import graph_png
    from onnxperf.render.graph.svg import graph_svg

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
