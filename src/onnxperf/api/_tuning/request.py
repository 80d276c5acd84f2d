"""What a tuning was asked for, once for all of its stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.requests import Settings, require
from onnxperf.api._shared.subjects import Entry
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.model.files import read_inputs
from onnxperf.model.inputs import make_feeds
from onnxperf.records.tune import Goal
from onnxperf.runtimes.find import find_runtime
from onnxperf.tuning.halving import Budget


class AimKeywords(TypedDict, total=False):
    """What is searched; see Aim."""

    goal: Goal
    call: str | None
    allow: Literal["approx"] | None
    max_error: float | None
    calibration: Mapping[str, Any] | None


class Aim(Struct, frozen=True, kw_only=True):
    """What is searched."""

    goal: Goal = "latency"
    call: str = ""
    """Call style of all choices and of the defaults; empty where call styles are choices."""
    approximate: bool = False
    max_error: float | None = None
    calibration: Any = None
    """Inputs from which ranges of activations are found."""


def aim_of(keywords: Mapping[str, Any]) -> Aim:
    """What the keywords of a tuning stand for; values that make no sense are refused."""
    goal, call, allow = keywords.get("goal", "latency"), keywords.get("call"), keywords.get("allow")
    max_error = keywords.get("max_error")
    if goal not in get_args(Goal):
        raise BadOption.unknown("goal", goal, get_args(Goal), option="goal")
    if call is not None:
        find_runtime("ort").call(call)
    if allow not in (None, "approx"):
        raise BadOption.unknown("permission", allow, ["approx"], option="allow")
    if max_error is not None:
        require(max_error >= 0, "max_error", max_error, "0 or more")
        if allow is None:
            raise BadOption("only approximate choices have an error; add `allow=approx`", option="max_error")
    calibration = keywords.get("calibration")
    if calibration is not None and allow is None:
        raise BadOption("only approximate choices are calibrated; add `allow=approx`", option="calibrate")
    return Aim(goal=goal, call=call or "", approximate=allow == "approx", max_error=max_error, calibration=calibration)


@dataclass(frozen=True)
class TuneRequest:
    """The model with its inputs, and how it is searched."""

    model: Source
    entry: Entry
    settings: Settings
    aim: Aim
    budget: Budget
    feeds: Mapping[str, Any] | None
    progress: Progress

    @property
    def threads(self) -> int:
        """Those of onnxruntime's defaults."""
        return self.settings.session.threads or 1

    @property
    def inputs_are_given(self) -> bool:
        """All of them, so that none can be made anew."""
        return set(self.feeds or {}) >= set(self.entry.feeds.arrays)

    def entry_of(self, seed: int) -> Entry:
        """The model with random inputs of another seed; what was given stays."""
        given = dict(self.feeds or {})
        given |= read_inputs({name: value for name, value in given.items() if isinstance(value, Path)})
        inputs = replace(self.settings.inputs, seed=self.settings.inputs.seed + seed)
        return dataclasses.replace(self.entry, feeds=make_feeds(self.entry.model, inputs, given))
