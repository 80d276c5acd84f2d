"""`onnxperf.view`: a model as a listing, JSON, dot, a drawing or Python code, with what its nodes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast, get_args

import msgspec

from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.reading import source_of, view_of
from onnxperf.api._shared.requests import InputKeywords, parse, require
from onnxperf.errors import BadOption
from onnxperf.model.opened import Model
from onnxperf.model.shapes import Settled, settle
from onnxperf.records.options import InputOptions, Signature
from onnxperf.records.view import Dims, GraphView, Measure, Metrics
from onnxperf.render.graph.text import WHOLE, Listing
from onnxperf.results.view import Drawings, Form, ViewResult, drawings_of
from onnxperf.wording.names import visible

if TYPE_CHECKING:
    from onnxperf.api._shared.recordings import Events
    from onnxperf.measure.profiling import Progress
    from onnxperf.results.profile import ProfileResult

    Profiled = bool | str | Path | Events | ProfileResult | None


_LISTED = ("all", "around", "op", "depth")
"""Keywords that choose what a listing shows."""


class ViewKeywords(InputKeywords, total=False):
    """What a listing shows, and the sizes of the inputs."""

    all: bool
    around: str | None
    op: str | None
    depth: int | None


@shows_progress
def view(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    as_: Form = "text",
    values: bool = False,
    profile: Profiled = None,
    by: Measure = "time",
    progress: Progress = automatic,
    **keywords: Unpack[ViewKeywords],
) -> ViewResult:
    """Show a model; `str()` of what is returned is the text, and a notebook shows the picture.

    `as_` is text, json, dot, svg, png or code (what the numpy runtime runs); `save` writes any of these. A listing
    folds long models; `all` shows everything, `around` the neighbours of a node, `op` the nodes of one type, `depth`
    limits how far bodies are shown. `values` adds the values of all tensors to the JSON. `profile=True` profiles the
    model now and puts the time on its nodes; a result of `onnxperf.profile` or a trace does the same without running
    it; `by="memory"` shows memory instead, `by="headroom"` what each node could win at best on this machine.
    `dims` and `shapes` settle free sizes. Multiply-adds count every body once, however often it runs.
    """
    settings = parse(keywords, ViewKeywords)
    chosen: dict[str, Any] = {name: value for name, value in keywords.items() if name in _LISTED}
    inputs = cast("InputKeywords", {name: value for name, value in keywords.items() if name not in _LISTED})
    is_profiled = profile is not None and profile is not False
    request = _Request(as_, values, by, Listing(**chosen), settings.inputs, is_profiled)
    _check(request)
    opened = open_source(model)
    record = view_of(opened, values, _settled(opened, request.inputs))
    _check_operator(request, record)
    profiled = _profiled(
        profile, by, lambda: _measured(model, feeds, roofline=by == "headroom", progress=progress, **inputs)
    )
    if profiled is not None:
        record = msgspec.structs.replace(record, metrics=_metrics(profiled, record, by))
    listing = replace(request.listing, metrics=record.metrics)
    drawings: Drawings = {**drawings_of(record, listing), "code": lambda: source_of(opened)}
    result = ViewResult(record, as_, listing, drawings, profiled is not None and profiled.record.interrupted)
    _ = result.content  # what cannot be drawn is refused now
    return result


@dataclass(frozen=True)
class _Request:
    """What is shown, and how."""

    form: Form
    values: bool
    by: Measure
    listing: Listing
    inputs: InputOptions
    profiled: bool


def _check(request: _Request) -> None:
    """Refuse what does not exist, and what would do nothing."""
    if request.form not in get_args(Form):
        raise BadOption.unknown("form", request.form, get_args(Form), option="as_")
    if request.by not in get_args(Measure):
        raise BadOption.unknown("measure", request.by, get_args(Measure), option="by")
    depth = request.listing.depth
    require(depth is None or depth >= 0, "depth", depth, "0 or more")
    given = [name for name in _LISTED if getattr(request.listing, name) != getattr(WHOLE, name)]
    if given and request.form != "text":
        raise BadOption(f"`{given[0]}` chooses what a listing shows; leave it out, or show the model as text")
    if request.values and request.form != "json":
        raise BadOption("`values` go into the JSON; use `as_=json`")
    if request.by != "time" and not request.profiled:
        raise BadOption(f"`by={request.by}` is what a profile shows; add `profile`")


def _check_operator(request: _Request, record: GraphView) -> None:
    names = {name.rpartition("::")[2] for name in record.totals.operators}
    if request.listing.op not in (None, *names):
        raise BadOption.unknown("operator", request.listing.op, map(visible, sorted(names)), option="op")


def _settled(model: Model, options: InputOptions) -> dict[str, Dims] | None:
    """Shapes of the inputs, where sizes are given; free sizes stay as they are."""
    if not options.dims and not options.shapes:
        return None
    ranked = [each for each in model.inputs if each.shape is not None or each.name in options.shapes]
    tensors = [each for each in ranked if each.kind == "tensor"]
    settled = settle(tensors, options, {})
    return {each.name: tuple(_sizes(each, settled)) for each in tensors}


def _sizes(signature: Signature, settled: Settled) -> Iterator[int | str | None]:
    sizes = settled.shapes[signature.name]
    for axis, (declared, size) in enumerate(zip(signature.shape or sizes, sizes, strict=True)):
        is_free = declared in settled.unset or (declared is None and f"{signature.name}.{axis}" in settled.unset)
        yield declared if is_free else size


def _profiled(wanted: Profiled, by: Measure, measured: Callable[[], ProfileResult]) -> ProfileResult | None:
    if wanted is None or wanted is False:
        return None
    if wanted is True:
        return measured()
    from onnxperf.api._shared.recordings import is_events, is_trace
    from onnxperf.api.profile import profile
    from onnxperf.results.profile import ProfileResult

    if isinstance(wanted, ProfileResult):
        return wanted
    if by == "headroom":
        raise BadOption("a trace does not say what its machine can do; `by=headroom` profiles the model itself")
    if not is_events(wanted) and not is_trace(wanted):
        raise BadOption(option="profile", value=wanted, expected="the .json file of a trace that onnxruntime wrote")
    return profile(wanted)


def _measured(model: Source, feeds: Mapping[str, Any] | None, **keywords: Any) -> ProfileResult:
    # Imported only here: most views are drawn without running anything.
    from onnxperf.api.profile import profile

    return profile(model, feeds, **keywords)


def _metrics(profiled: ProfileResult, record: GraphView, by: Measure) -> Metrics:
    """What colours the nodes; their tooltips have both time and memory, where the trace has both."""
    from onnxperf.analyze.graphs.view_metrics import headroom_metrics, memory_metrics, time_metrics, with_lines_of

    if by == "headroom":
        return headroom_metrics(profiled.record, record)
    time = time_metrics(profiled.record, record)
    try:
        memory = memory_metrics(profiled.memory().record.nodes, profiled.record, record)
    except BadOption:
        if by == "memory":
            raise
        return time
    return with_lines_of(memory, time) if by == "memory" else with_lines_of(time, memory)
