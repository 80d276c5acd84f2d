"""The source of a model: what it was converted from, as something that can be called with the model's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from onnxperf.api._shared.requests import names_in
from onnxperf.errors import BadOption
from onnxperf.frameworks.base import FRAMEWORKS, FrameworkModel, SubjectOptions, framework_of, is_instance, is_path
from onnxperf.frameworks.export import framework_to_convert, path_problem
from onnxperf.frameworks.logs import quiet_libraries
from onnxperf.frameworks.sklearn import EstimatorCall
from onnxperf.measure.worker.lines import NamedFunction
from onnxperf.runtimes.base import Array
from onnxperf.wording.names import one_line


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
    if is_path(source):
        raise BadOption(path_problem(source), option="against")
    if not callable(source):
        raise BadOption(option="against", expected=f"an estimator, a model or a function, not {kind}")
    owner = getattr(source, "__self__", None)
    if is_instance(owner, "sklearn.base", "BaseEstimator"):  # its predict, or another of its methods
        return EstimatorCall(source, owner, options.get("input_names", ()))
    return source


def source_callables(
    sources: Mapping[str, object], arrays: Mapping[str, Array], device: str = "cpu"
) -> dict[str, Callable[..., Any]]:
    """Several sources of a model with these inputs, by the names of the subjects that they will be.

    A Keras model is a subject for each of its ways to be called.
    """
    found: dict[str, Callable[..., Any]] = {}
    for name, source in sources.items():
        styles = call_styles(source)
        for style in styles:
            row = name if len(styles) == 1 else f"{name} {style}"
            call = as_callable(source, call=style, input_names=list(arrays), device=device)
            found[row] = call.tried_on(arrays.values()) if isinstance(call, EstimatorCall) else call
    return found


def notes_on_calls(callables: Mapping[str, Callable[..., Any]]) -> list[str]:
    """Which sources are called with other inputs than the model."""
    calls = [(name, each.note) for name, each in callables.items() if isinstance(each, EstimatorCall)]
    return [f"{name}: {note}" for name, note in calls if note]


def call_styles(source: object) -> tuple[str, ...]:
    """The ways in which the framework of a source calls it; the first is the default."""
    if isinstance(source, FrameworkModel):
        return (source.call,)
    framework = framework_of(source)
    return ("call",) if framework is None else framework.calls_of(source)


def is_plain(source: object) -> bool:
    """Whether this is any callable, which need not compute what a model does."""
    return not isinstance(source, FrameworkModel) and framework_of(source) is None


_LOADED: dict[int, tuple[object, str]] = {}
"""What a function made, by its identity, and the function: one that differs from its model is made once more."""


def load_source(text: str) -> object:
    """The model that is named as FILE.py:name, module:name, a .keras or .pt2 file, or the folder of a saved_model."""
    model, _ = load_with_sample(text)
    if not is_path(model):
        _LOADED[id(model)] = (model, text)
    return model


def named_sources(sources: Mapping[str, object]) -> dict[str, object]:
    """Sources by name; those that are named by a text, as FILE.py:function, are loaded."""
    return {name: load_source(each) if isinstance(each, str) else each for name, each in sources.items()}


def check_source(text: str) -> str:
    """The text, if what it names is there; nothing of it is imported, read or run."""
    if _is_place(text):
        framework_to_convert(text)  # raises what is wrong with the path
    else:
        NamedFunction.parse(text)
    return text


def made_by(source: object) -> str | None:
    """The function that a source was made by, if it was loaded here."""
    return _LOADED[id(source)][1] if id(source) in _LOADED else None


def load_with_sample(text: str) -> tuple[object, object]:
    """A model that is named on the command line, with its sample, or None if it has none.

    A name in Python is a model, a pair of a model and its sample, or a function without arguments that returns either.
    """
    if _is_place(text):
        return check_source(text), None
    named = NamedFunction.parse(text)
    try:
        with quiet_libraries():
            found = named.find(lambda each: callable(each) or _is_model(each))
            loaded = found if _is_model(found) or not callable(found) else found()
    except BadOption:
        raise
    except Exception as error:
        raise BadOption(f"the function {text} failed: {type(error).__name__}: {one_line(error)}") from error
    return loaded if isinstance(loaded, tuple) and len(loaded) == 2 else (loaded, None)


def _is_place(text: str) -> bool:
    """Whether this is a file or a folder, and not a name in Python."""
    return ":" not in text or Path(text).exists()


def _is_model(found: object) -> bool:
    """Whether this is a model, or a model with its sample, and need not be called to become one."""
    model = found[0] if isinstance(found, tuple) and len(found) == 2 else found
    return isinstance(model, FrameworkModel) or framework_of(model) is not None


def sources_of(
    texts: Sequence[str], folder: Path = Path(), load: Callable[[str], object] = load_source
) -> dict[str, Any] | list[str] | None:
    """Sources by name from [NAME=]SOURCE, as `load` takes it, or the names of frameworks."""
    named = [text for text in texts if not set(names_in(text)) <= set(FRAMEWORKS) and _names_source(text, folder)]
    if not named:
        return [name for text in texts for name in names_in(text)] or None
    if len(named) < len(texts):
        raise BadOption("`against`: give either sources or frameworks of a zoo model, not both")
    found: dict[str, Any] = {}
    for text in named:
        name, equals, place = text.partition("=")
        spelled = place if equals else text
        file, colon, function = spelled.rpartition(":")
        located = spelled if colon and not file.endswith(".py") else str(folder / spelled)
        row = name if equals else function if colon else Path(spelled).stem
        if row in found:
            raise BadOption(f"two sources are named {row!r}; give one another name: NAME={spelled}", option="against")
        found[row] = load(located)
    return found


def _names_source(text: str, folder: Path) -> bool:
    """Whether this is a function, a file or a folder, and not a misspelt framework."""
    place = text.rpartition("=")[2]
    return (
        ":" in place
        or "=" in text
        or bool(Path(place).suffix)
        or len(Path(place).parts) > 1
        or (folder / place).is_dir()
    )
