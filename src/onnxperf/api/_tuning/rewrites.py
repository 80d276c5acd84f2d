"""Models that are rewritten before they are raced: without Einsum nodes, or in another precision."""

from __future__ import annotations

import importlib
import time as clocks
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from onnxperf.api._tuning.candidates import session_keywords
from onnxperf.api._tuning.request import TuneRequest
from onnxperf.errors import OnnxperfError
from onnxperf.records.tune import NO_TIME, TuneChoice
from onnxperf.tuning.halving import Budget, TimeIsUp

_EINSUM_SHARE = 0.3
"""Part of the time that replacing Einsum nodes may take."""
_LONGEST_SHARE = 0.4
"""Part of the time that making models may take; what was not made by then is not tried."""
_ENOUGH_S = 100.0
"""Time of a tuning from which on graphs of Einsum nodes are also searched, which takes a minute for each."""


@dataclass
class Rewritten:
    """Rewritten models by name, and the choices that they are."""

    folder: Path
    """They are written to it."""
    paths: dict[str, Path] = field(default_factory=dict)
    choices: list[TuneChoice] = field(default_factory=list)
    """Those that no knob proposed."""
    notes: list[str] = field(default_factory=list)


def rewritten_models(request: TuneRequest, found: Rewritten, proposed: Sequence[TuneChoice]) -> None:
    """Make what was proposed; a model that cannot be made, or is not faster by itself, is a note."""
    if any(each.rewrite == "einsum" for each in proposed):
        _without_einsum(request, found)
    if request.aim.approximate:
        _approximated(request, found)


def _without_einsum(request: TuneRequest, found: Rewritten) -> None:
    """Einsum nodes replaced by the graphs that are fastest for these shapes."""
    from onnxperf.api.rewrite_einsum import rewrite_einsum

    path = found.folder / "einsum.onnx"
    budget, inputs = request.budget, request.settings.inputs
    try:
        result = rewrite_einsum(
            request.model,
            output=path,
            feeds=request.feeds,
            search=budget.left(clocks.monotonic()) >= _ENOUGH_S,
            progress=partial(_report, request),
            time=_EINSUM_SHARE * budget.total_s,
            seed=inputs.seed,
            dims=inputs.dims,
            shapes=inputs.shapes,
            ranges=inputs.ranges,
            cast=inputs.cast,
            timeout=request.settings.limits.timeout,
            memory_limit=request.settings.limits.memory_limit,
            **session_keywords(request.settings.variants[0]),
        )
    except OnnxperfError as error:
        found.notes.append(f"Einsum nodes were not replaced: {error}")
        return
    if result.record.interrupted and not _is_late(budget):
        raise KeyboardInterrupt
    if path.exists():
        found.paths["einsum"] = path
    else:
        reason = f"{NO_TIME} for it" if result.record.interrupted else "the whole model was not faster without them"
        found.notes.append(f"Einsum nodes were not replaced: {reason}")


def _report(request: TuneRequest, _done: float, text: str) -> None:
    if _is_late(request.budget):
        raise TimeIsUp
    request.progress(0.0, f"replacing Einsum nodes: {text}")


def _is_late(budget: Budget) -> bool:
    return budget.left(clocks.monotonic()) < (1 - _LONGEST_SHARE) * budget.total_s


def _approximated(request: TuneRequest, found: Rewritten) -> None:
    """The model in 8 and in 16 bits; the one place where these are asked for."""
    try:
        approximate_models = importlib.import_module(f"{__package__}.approximations").approximate_models
    except ModuleNotFoundError:
        found.notes.append("models in other precisions cannot be made by this version of onnxperf")
        return
    request.progress(0.0, "making models in other precisions")
    try:
        goes_on = lambda: not _is_late(request.budget)  # noqa: E731
        made = approximate_models(request.entry, request.settings, found.folder, request.calls, goes_on)
    except OnnxperfError as error:
        found.notes.append(f"models in other precisions were not made: {error}")
        return
    for name, path in made:
        found.paths[name] = path
        found.choices.append(TuneChoice(name=name, knobs=("rewrite",), rewrite=name, approximate=True))
