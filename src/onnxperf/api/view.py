"""`onnxperf.view`: a model as a listing, JSON, dot, a drawing or Python code, with what its nodes cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.errors import BadOption
from onnxperf.measure.model_reader import source_of, view_of
from onnxperf.model.opened import Model
from onnxperf.model.shapes import Settled, settle
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import VIEW, Listed, View
from onnxperf.records.options import InputOptions, Signature
from onnxperf.records.view import Dims, GraphView, Measure, Metrics
from onnxperf.render.graph.text import Listing
from onnxperf.results.view import Drawings, Form, ViewResult, drawings_of
from onnxperf.wording.names import visible

if TYPE_CHECKING:
    from onnxperf.api._shared.recordings import Events
    from onnxperf.measure.profiling import Progress
    from onnxperf.results.profile import ProfileResult

    Profiled = bool | str | Path | Events | ProfileResult | None


_OWN = (*Listed.declared, *View.declared)
_WITHOUT_RUNNING = frozenset((*_OWN, "dims", "batch", "shapes", "timeout"))
"""Options that mean something for a model that is read, and not run."""


@public(VIEW)
def view(
    model: Source,
    feeds: Mapping[str, Any] | None = None,
    *,
    as_: Form = "text",
    profile: Profiled,
    by: Measure,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> ViewResult:
    """Show a model; `str()` of what is returned is the text, and a notebook shows the picture.

    `as_` is text, json, dot, svg, png or code (what the numpy runtime runs); `save` writes any of these. A listing
    folds long models; `all` shows everything, `around` the neighbors of a node, `op` the nodes of one type, `depth`
    limits how far bodies are shown. `values` adds the values of all tensors to the JSON. `profile=True` profiles the
    model now and puts the time on its nodes; a result of `onnxperf.profile` or a trace does the same without running
    it; `by="memory"` shows memory instead, `by="headroom"` what each node could win at best on this machine.
    `dims` and `shapes` settle free sizes. Multiply-adds count every body once, however often it runs.
    """
    profile = None if profile is False else profile
    _check(as_, profile, settings, given)
    opened = open_source(model, timeout_s=settings.limits.timeout)
    record = view_of(opened, bool(given.get("values")), _settled(opened, settings.inputs))
    _check_operator(given.get("op"), record)
    own = {name: value for name, value in given.items() if name not in (*_OWN, "feeds")}
    profiled = _profiled(
        profile, by, lambda: _measured(model, feeds, roofline=by == "headroom", progress=progress, **own)
    )
    if profiled is not None:
        record = msgspec.structs.replace(record, metrics=_metrics(profiled, record, by))
    listing = Listing(**{name: given[name] for name in Listed.declared if name in given}, metrics=record.metrics)
    drawings: Drawings = {**drawings_of(record, listing), "code": lambda: source_of(opened)}
    result = ViewResult(record, as_, listing, drawings, profiled is not None and profiled.record.interrupted)
    _ = result.content  # what cannot be drawn is refused now
    return result


def _check(form: Form, profile: Profiled, settings: Settings, given: Mapping[str, Any]) -> None:
    """Refuse what does not exist, and what would do nothing."""
    if form not in get_args(Form):
        raise BadOption.unknown("form", form, get_args(Form), option="as_")
    if form != "text":
        refuse_useless(given, frozenset(given) - {*Listed.declared}, "forms other than the listing")
    if form != "json":
        refuse_useless(given, frozenset(given) - {"values"}, "forms other than JSON")
    if profile is None:
        refuse_useless(given, _WITHOUT_RUNNING - {"by"}, "a model that is not profiled (add `profile`)")
    elif profile is not True:
        refuse_useless(given, _WITHOUT_RUNNING, "a profile that exists already")
    else:
        _ = settings.session  # one profile: a setting has one value


def _check_operator(op: str | None, record: GraphView) -> None:
    names = {name.rpartition("::")[2] for name in record.totals.operators}
    if op not in (None, *names):
        raise BadOption.unknown("operator", op, map(visible, sorted(names)), option="op")


def _settled(model: Model, options: InputOptions) -> dict[str, Dims] | None:
    """Shapes of the inputs, if sizes are given; free sizes stay as they are."""
    if not options.dims and not options.shapes and options.batch is None:
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
    """What colors the nodes; their tooltips show both time and memory, if the trace has both."""
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
