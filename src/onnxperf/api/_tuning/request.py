"""What a tuning was asked for, once for all of its stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._shared.exchanged import check_exchanged
from onnxperf.api._shared.opening import Source
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._shared.variants import named_settings, whole_name
from onnxperf.api._tuning.candidates import OWN_KEYWORDS, start_of_search
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.race import Progress
from onnxperf.model.files import read_inputs
from onnxperf.model.inputs import make_feeds
from onnxperf.options.base import refuse_useless
from onnxperf.records.options import SessionOptions
from onnxperf.records.tune import Goal
from onnxperf.runtimes.find import find_runtime
from onnxperf.tuning.halving import Budget

_OF_APPROXIMATE = ("max_error", "calibrate")
"""Options of candidates that change results a little."""
_GIVEN = "the defaults are the session as given: "


class Aim(Struct, frozen=True, kw_only=True):
    """What is searched."""

    goal: Goal = "latency"
    call: str = ""
    """Call style of all choices and of the defaults; empty if call styles are choices."""
    approximate: bool = False
    max_error: float | None = None
    fixed: tuple[str, ...] = ()
    """Given settings, by name: no choice changes them."""


def aim_of(settings: Settings, given: Mapping[str, Any]) -> Aim:
    """What the options of a tuning stand for; those that contradict each other are refused."""
    call, own = given.get("call"), settings.given[0].call
    if call is not None:
        find_runtime("ort").call(call)
        if own and own != call:
            raise BadOption("the variant has another call style; leave one of them out", option="call", value=call)
    start_of_search(settings, call or "run")  # refuses several sessions, and settings that onnxruntime does not know
    approximate = given.get("allow") == "approx"
    if not approximate:
        useless = {name: given[name] for name in _OF_APPROXIMATE if name in given}
        refuse_useless(useless, (), "exact candidates (`allow=approx` adds others)")
    return Aim(
        goal=given.get("goal", "latency"),
        call=call or own,
        approximate=approximate,
        max_error=given.get("max_error"),
        fixed=_fixed(settings, given),
    )


def _fixed(settings: Settings, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of given settings: also of those with the value that they have anyway."""
    own = [name for name in OWN_KEYWORDS if given.get(name)]
    variants = given.get("variants")
    by_hand = [each for each in variants.values() if isinstance(each, Mapping)] if isinstance(variants, Mapping) else []
    named = [given.get("options") or {}, given.get("options_unchecked") or {}, *by_hand]
    known = named_settings(settings.given[0].session)
    return tuple(dict.fromkeys([*known, *own, *(whole_name(str(name)) for each in named for name in each)]))


@dataclass(frozen=True)
class TuneRequest:
    """The model with its inputs, and how it is searched."""

    model: Source
    entry: Entry
    settings: Settings
    aim: Aim
    budget: Budget
    feeds: Mapping[str, Any] | None
    calls: Sequence[dict[str, Any]]
    """Inputs of calls with which ranges of activations are calibrated."""
    progress: Progress

    @property
    def session(self) -> SessionOptions:
        """The session that all choices start from, which the race calls the defaults."""
        return self.settings.session

    @property
    def threads(self) -> int:
        """Those of the defaults."""
        return self.session.threads or 1

    @property
    def inputs_are_given(self) -> bool:
        """All of them, so that none can be made again."""
        return set(self.feeds or {}) >= set(self.entry.feeds.arrays)

    def entry_of(self, seed: int) -> Entry:
        """The model with random inputs of another seed; the given inputs stay."""
        given = dict(self.feeds or {})
        given |= read_inputs({name: value for name, value in given.items() if isinstance(value, Path)})
        inputs = replace(self.settings.inputs, seed=self.settings.inputs.seed + seed)
        return dataclasses.replace(self.entry, feeds=make_feeds(self.entry.model, inputs, given))


# ---------------------------------------------------------------- the session as given


def start_settings(settings: Settings) -> dict[str, str]:
    """The settings that all choices have, because they were given."""
    return named_settings(settings.given[0].session)


def note_on_start(settings: Settings) -> str:
    """What the defaults are, where settings were given; by this note, a run is known to start from the same ones."""
    found = start_settings(settings)
    if not found:
        return ""
    listed = ", ".join(f"{name}={value}" for name, value in found.items())
    return f"{_GIVEN}{listed}; these settings were not varied"


def starts_alike(notes: Sequence[str], note: str) -> bool:
    """Whether a run with these notes started from the session that the note is about."""
    return [each for each in notes if each.startswith(_GIVEN)] == ([note] if note else [])


def for_files(settings: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The settings that a file may have, and the names of the others: environments, providers, libraries."""
    kept: dict[str, str] = {}
    others = []
    for name, value in settings.items():
        try:
            check_exchanged([name], "", "")
            kept[name] = value
        except BadInput:
            others.append(name)
    return kept, others
