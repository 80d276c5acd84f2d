"""Candidates in a row, from the good end to the other: releases, graph optimizers or settings."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup, setups_of
from onnxperf.api._shared.variants import session_of
from onnxperf.bisection.releases import releases_in
from onnxperf.bisection.settings import OPTIMIZERS, WORTH_TRYING, settings_between, with_settings
from onnxperf.environments.releases import versions_of
from onnxperf.errors import BadOption
from onnxperf.records.bisect import BisectCandidate
from onnxperf.records.options import SessionOptions


class RowPlace(NamedTuple):
    """A candidate, the session that it stands for, and how that is called."""

    candidate: BisectCandidate
    session: SessionOptions
    call: str = "run"


def sides_of(settings: Settings) -> list[Setup]:
    """The given variants, as sessions of onnxruntime with one call style each."""
    found = setups_of("ort", "run", settings)
    for each in found:
        if each.runtime != "ort":
            problem = f"a bisection compares sessions of onnxruntime, not of {each.runtime}"
            raise BadOption(problem, option="variants", value=each.name)
        if len(each.calls) > 1:
            raise BadOption("a side of a bisection has one call style", option="variants", value=each.name)
    return found


def releases(text: str, settings: Settings) -> list[RowPlace]:
    """Releases of a package, each in an environment of its own."""
    if settings.session.env:
        raise BadOption("releases are environments by themselves; leave `env` out", option="releases", value=text)
    side = sides_of(settings)[0]
    return [
        _place(BisectCandidate(name=each.name, cause=each.name), replace(side.session, env=each.requirement), side)
        for each in releases_in(text, versions_of)
    ]


def optimizers(settings: Settings) -> list[RowPlace]:
    """Graph optimizers switched on one after the other, in the order of onnxruntime."""
    _ = settings.session  # refuses several values
    side = sides_of(settings)[0]
    own = side.session.disabled_optimizers
    known = [name for name in OPTIMIZERS if name not in own]
    return [
        _place(
            _in_row(number, known, "optimizers"),
            replace(side.session, disabled_optimizers=(*own, *known[number:])),
            side,
        )
        for number in range(len(known) + 1)
    ]


def settings_in(settings: Settings) -> list[RowPlace]:
    """Settings changed one after the other: those in which two variants differ, or those that are worth trying."""
    if len(settings.variants) > 2:
        raise BadOption("a bisection has two ends: give two variants, or none", option="variants")
    sides = sides_of(settings)
    first, last = sides[0], sides[-1]
    session = last.session if len(settings.variants) > 1 else _tried(first.session)
    changed = settings_between(first.session, session)
    names = [each.name for each in changed]
    if first.calls != last.calls:  # the last of the settings
        names.append(f"call={last.calls[0]}")
    return [
        _place(
            _in_row(number, names, "settings"),
            with_settings(first.session, changed[:number]),
            first if number <= len(changed) else last,
        )
        for number in range(len(names) + 1)
    ]


def _place(candidate: BisectCandidate, session: SessionOptions, called_as: Setup) -> RowPlace:
    return RowPlace(candidate, session, called_as.calls[0])


def _tried(session: SessionOptions) -> SessionOptions:
    worth = session_of(WORTH_TRYING)
    return with_settings(session, settings_between(SessionOptions(), worth))


def _in_row(number: int, names: list[str], what: str) -> BisectCandidate:
    """What is there up to this place; the first has nothing, the last has all."""
    if number == 0:
        return BisectCandidate(name=f"no {what}")
    cause = names[number - 1]
    return BisectCandidate(name=f"all {what}" if number == len(names) else f"{what} up to {cause}", cause=cause)
