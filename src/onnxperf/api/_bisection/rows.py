"""Candidates in a row, from the good end to the other: releases, graph optimisers or settings."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.variants import session_of
from onnxperf.bisection.releases import releases_in
from onnxperf.bisection.settings import OPTIMIZERS, WORTH_TRYING, settings_between, with_settings
from onnxperf.environments.releases import versions_of
from onnxperf.errors import BadOption
from onnxperf.records.bisect import BisectCandidate
from onnxperf.records.options import SessionOptions


class RowPlace(NamedTuple):
    """A candidate, and the session that it stands for."""

    candidate: BisectCandidate
    session: SessionOptions


def releases(text: str, settings: Settings) -> list[RowPlace]:
    """Releases of a package, each in an environment of its own."""
    session = settings.session
    if session.env:
        raise BadOption("releases are environments by themselves; leave `env` out", option="releases", value=text)
    return [
        RowPlace(BisectCandidate(name=each.name, cause=each.name), replace(session, env=each.requirement))
        for each in releases_in(text, versions_of)
    ]


def optimizers(settings: Settings) -> list[RowPlace]:
    """Graph optimisers switched on one after the other, in the order of onnxruntime."""
    session = settings.session
    known = [name for name in OPTIMIZERS if name not in session.disabled_optimizers]
    own = session.disabled_optimizers
    return [
        RowPlace(_in_row(number, known, "optimisers"), replace(session, disabled_optimizers=(*own, *known[number:])))
        for number in range(len(known) + 1)
    ]


def options(settings: Settings) -> list[RowPlace]:
    """Settings changed one after the other: those in which two variants differ, or those that are worth trying."""
    variants = settings.variants
    if len(variants) > 2:
        raise BadOption("a bisection has two ends: give two variants, or none", option="variants")
    first = variants[0].session
    second = variants[-1].session if len(variants) > 1 else _tried(first)
    changed = settings_between(first, second)
    names = [each.name for each in changed]
    return [
        RowPlace(_in_row(number, names, "settings"), with_settings(first, changed[:number]))
        for number in range(len(changed) + 1)
    ]


def _tried(session: SessionOptions) -> SessionOptions:
    worth = session_of(WORTH_TRYING)
    return with_settings(session, settings_between(SessionOptions(), worth))


def _in_row(number: int, names: list[str], what: str) -> BisectCandidate:
    """What is there up to this place; the first has nothing, the last has all."""
    if number == 0:
        return BisectCandidate(name=f"no {what}")
    cause = names[number - 1]
    return BisectCandidate(name=f"all {what}" if number == len(names) else f"{what} up to {cause}", cause=cause)
