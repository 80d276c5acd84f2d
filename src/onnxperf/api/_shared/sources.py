"""The source of a model: what it was converted from, as something that can be called with the model's inputs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from onnxperf.errors import BadOption
from onnxperf.frameworks.base import FrameworkModel, SubjectOptions, framework_of
from onnxperf.measure.worker.lines import NamedFunction, load_file


def as_callable(source: object, **options: Unpack[SubjectOptions]) -> Callable[..., Any]:
    """What a race can call with the arrays of a model's inputs, in their order.

    A model of a framework is called as the framework does it; `call` is one of `call_styles(source)`. Anything else
    is called as it is, wherever it runs.
    """
    if isinstance(source, FrameworkModel):
        return source.adapted(options.get("input_names", ()), options.get("device", "cpu"))
    framework = framework_of(source)
    if framework is not None:
        return framework.subject(source, **options)
    kind = type(source).__name__
    if options.get("call", "call") != "call":
        raise BadOption(f"only models of Keras have a choice, not {kind}", option="call", value=options["call"])
    if isinstance(source, str | os.PathLike):
        raise BadOption(option="against", value=os.fspath(source), expected="the folder of a tensorflow saved_model")
    if not callable(source):
        raise BadOption(option="against", expected=f"an estimator, a model or a function, not {kind}")
    return source


def source_callables(
    sources: Mapping[str, object], input_names: Sequence[str] = (), device: str = "cpu"
) -> dict[str, Callable[..., Any]]:
    """Several sources at once, by the names of the subjects that they will be.

    A Keras model is a subject for each of its ways to be called.
    """
    found: dict[str, Callable[..., Any]] = {}
    for name, source in sources.items():
        styles = call_styles(source)
        for style in styles:
            row = name if len(styles) == 1 else f"{name} {style}"
            found[row] = as_callable(source, call=style, input_names=input_names, device=device)
    return found


def call_styles(source: object) -> tuple[str, ...]:
    """The ways in which the framework of a source calls it; the first is the default."""
    if isinstance(source, FrameworkModel):
        return (source.call,)
    framework = framework_of(source)
    return ("call",) if framework is None else framework.calls_of(source)


def is_plain(source: object) -> bool:
    """Whether this is any callable, which need not compute what a model does."""
    return not isinstance(source, FrameworkModel) and framework_of(source) is None


def load_source(text: str) -> object:
    """What a function returns that is named as FILE.py:function or module:function."""
    named = NamedFunction.parse(text)
    place, path = named.place, Path(named.place)
    try:  # workers find a file under its own name
        module = load_file(path, path.stem) if place.endswith(".py") else importlib.import_module(place)
    except Exception as error:
        raise BadOption(f"{place!r} cannot be loaded: {type(error).__name__}: {error}") from error
    function = getattr(module, named.name, None)
    if not callable(function):
        public = sorted(each for each in vars(module) if callable(getattr(module, each)) and not each.startswith("_"))
        raise BadOption.unknown(f"function of {place}", named.name, public)
    try:
        return function()
    except Exception as error:
        raise BadOption(f"the function {text} failed: {type(error).__name__}: {error}") from error
