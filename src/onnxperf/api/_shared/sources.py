"""The source of a model: what it was converted from, as something that can be called with the model's inputs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from onnxperf.errors import BadOption
from onnxperf.frameworks.base import FrameworkModel, Live, framework_of
from onnxperf.frameworks.sklearn import estimator_call
from onnxperf.frameworks.tensorflow import KerasModel, tensorflow_model
from onnxperf.frameworks.torch import TorchModel
from onnxperf.measure.lines import load_file


def as_callable(
    source: Any, *, call: str = "call", input_names: Sequence[str] = (), device: str = "cpu"
) -> Callable[..., Any]:
    """What a race can call with the arrays of a model's inputs, in their order.

    An estimator predicts labels and, where it can, probabilities or scores. A torch module, a Keras model and the
    path of a saved_model become a FrameworkModel, which `bind` turns into one inference on tensors; `call` is one of
    `call_styles(source)`, and `input_names` lets inputs find their parameters by name. Anything else is called as it
    is, wherever it runs.
    """
    framework = framework_of(source)
    if isinstance(source, FrameworkModel):
        return source.told(input_names, device)
    if framework in ("torch", "tensorflow"):
        options: dict[str, Any] = {"call": call, "input_names": tuple(input_names), "device": device}
        return TorchModel(Live(source), **options) if framework == "torch" else tensorflow_model(source, **options)
    if call != "call":
        raise BadOption(f"call {call!r}: only models of Keras have a choice, not {type(source).__name__}")
    if isinstance(source, str | os.PathLike):
        raise BadOption(f"--against: {os.fspath(source)!r} is no folder of a TensorFlow saved_model")
    if hasattr(source, "predict") or hasattr(source, "transform"):
        return estimator_call(source)
    if not callable(source):
        raise BadOption(f"--against: expected an estimator, a model or a function, got {type(source).__name__}")
    return source  # type: ignore[no-any-return]


def source_callables(
    sources: Mapping[str, Any], input_names: Sequence[str] = (), device: str = "cpu"
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


def call_styles(source: Any) -> tuple[str, ...]:
    """The ways in which the framework of a source calls it; the first is the default."""
    if isinstance(source, FrameworkModel):
        return (source.call,)
    is_keras = framework_of(source) == "tensorflow" and hasattr(source, "predict_on_batch")
    return KerasModel.calls if is_keras else ("call",)


def is_plain(source: Any) -> bool:
    """Whether this is any callable, of which nobody says that it computes what a model does."""
    known = isinstance(source, FrameworkModel) or framework_of(source) is not None
    return not known and not hasattr(source, "predict") and not hasattr(source, "transform")


def load_source(text: str) -> Any:
    """What a function returns that is named as FILE.py:function or module:function."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise BadOption(f"--against {text}: expected FILE.py:function or module:function")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    if not callable(getattr(module, name, None)):
        public = sorted(each for each in vars(module) if callable(getattr(module, each)) and not each.startswith("_"))
        raise BadOption.unknown(f"function of {place}", name, public)
    try:
        return getattr(module, name)()
    except Exception as error:
        raise BadOption(f"--against {text}: the function failed: {type(error).__name__}: {error}") from error


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise BadOption(f"--against: no such file: {str(path)!r}")
    try:
        return load_file(path, path.stem)  # workers find it under that name
    except Exception as error:
        raise BadOption(f"--against: {str(path)!r} cannot be loaded: {type(error).__name__}: {error}") from error


def _load_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadOption(f"--against: no module {name!r}: {error}") from error
