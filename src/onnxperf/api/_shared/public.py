"""What all public functions share: options are read once, progress is shown, and a run is saved if asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any, TypeVar, cast

from onnxperf.api._shared.progress import shown
from onnxperf.api._shared.requests import settings_of
from onnxperf.caller import with_command
from onnxperf.options.base import Takes

R = TypeVar("R")

_SETTINGS, _GIVEN, _PROGRESS = "settings", "given", "progress"
"""What a function may declare in addition to options: all of them as records, those given, the progress."""


def public(takes: Takes, saves: bool = True) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Let a public function take these options; it declares those that it needs by name.

    Its run is saved here, unless it `saves` nothing or does that by itself.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        own = inspect.signature(function)
        saved_here = saves and "store" in takes.options and "tags" in takes.options

        @wraps(function)
        def call(*args: Any, **keywords: Any) -> R:
            asked = own.bind_partial(*args).arguments | keywords
            direct = {name for name in own.parameters if name not in takes.options} - {_SETTINGS, _GIVEN}
            values = takes.values({name: each for name, each in asked.items() if name not in direct})
            passed = {name: each for name, each in asked.items() if name in direct}
            passed |= _wanted(own.parameters, takes.complete(values), values)
            if not saved_here or values.get("store", False) is False:
                return with_command(_called(function, passed))
            from onnxperf.api._keeping.saving import Saving  # the store takes its time to load

            saving = Saving(values["store"], values.get("tags"))
            result: Any = with_command(_called(function, passed))
            return cast("R", saving.saved(result))

        vars(call).update(__signature__=signature_of(own, takes), takes=takes)
        call.__doc__ = takes.documented(function.__doc__)
        return call

    return decorate


def _wanted(names: Mapping[str, Parameter], complete: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a function declares, and what else it may want to know of them."""
    wanted = {name: value for name, value in complete.items() if name in names}
    if _SETTINGS in names and _SETTINGS not in complete:
        wanted[_SETTINGS] = settings_of(complete)
    if _GIVEN in names:
        wanted[_GIVEN] = dict(given)
    return wanted


def _called(function: Callable[..., R], passed: dict[str, Any]) -> R:
    """Call it, with a bar as its progress if none was given."""
    if _PROGRESS not in inspect.signature(function).parameters:
        return function(**passed)
    with shown(passed.pop(_PROGRESS, None)) as progress:
        return function(**passed, progress=progress)


def signature_of(own: inspect.Signature, takes: Takes) -> inspect.Signature:
    """What help() and editors show: the function's own parameters, then the options."""
    first, last = [], []
    for name, each in own.parameters.items():
        if name in (_SETTINGS, _GIVEN) and name not in takes.options:
            continue
        if each.kind is not Parameter.KEYWORD_ONLY:
            first.append(each)
        elif name not in takes.options:
            last.append(each)
    there = {each.name for each in first}
    options = [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=each.type)
        for each in takes
        if each.name not in there
    ]
    return own.replace(parameters=[*first, *options, *last])
