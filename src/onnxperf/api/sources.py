"""The source of a model: what it was converted from, as something that can be called with the model's inputs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onnxperf.errors import BadOption

_METHODS = ("predict_proba", "decision_function")


def as_callable(source: Any) -> Callable[..., Any]:
    """An estimator predicts labels and, where it can, probabilities or scores; anything else is called as it is."""
    if hasattr(source, "predict"):
        scores = next((name for name in _METHODS if hasattr(source, name)), None)

        def predict(*inputs: Any) -> Any:
            labels = source.predict(*inputs)
            return labels if scores is None else [labels, getattr(source, scores)(*inputs)]

        return predict
    if hasattr(source, "transform"):
        return source.transform  # type: ignore[no-any-return]
    if not callable(source):
        raise BadOption(f"--against: expected an estimator or a function, got {type(source).__name__}")
    return source  # type: ignore[no-any-return]


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
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadOption(f"--against: {str(path)!r} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.absolute().parent))  # workers find what the file imports, and the file itself
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise BadOption(f"--against: {str(path)!r} cannot be loaded: {type(error).__name__}: {error}") from error
    return module


def _load_module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise BadOption(f"--against: no module {name!r}: {error}") from error
