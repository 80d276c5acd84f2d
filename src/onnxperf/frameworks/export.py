"""Converts any framework's model to ONNX; any error of the converter becomes one line."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import onnx

from onnxperf.errors import BadInput, BadOption, MissingExtra
from onnxperf.frameworks.base import AnyFramework, ExportRequest, framework_of, is_path, version_of
from onnxperf.frameworks.logs import quiet_libraries

SUFFIXES = (".keras", ".pt2")
"""Extensions of files that a framework reads without unpickling anything."""
_FILES = "a .keras or .pt2 file"
_PICKLE = "is a pickle, which may run arbitrary code when loaded"
_UNSAFE = {
    **dict.fromkeys((".bin", ".ckpt", ".dill", ".joblib", ".pickle", ".pkl", ".pt", ".pth", ".sav"), _PICKLE),
    **dict.fromkeys((".h5", ".hdf5"), "is in the old format before .keras, which may contain code"),
}


def framework_to_convert(source: object) -> AnyFramework:
    """The framework of a model; if there is none, an error that lists what can be converted."""
    found = framework_of(source)
    if found is not None:
        return found
    if is_path(source):
        raise BadOption(path_problem(source))
    if isinstance(source, onnx.ModelProto):
        raise BadOption("this is already an ONNX model: nothing to convert")
    raise BadOption(
        f"a {type(source).__name__} cannot be converted; expected a fitted sklearn estimator, a torch module, or a "
        f"tensorflow model: a Keras model, a saved_model folder, or {_FILES}"
    )


def path_problem(source: str | os.PathLike[str]) -> str:
    """Why nothing can be loaded from a path, and what to use instead."""
    path = Path(source)
    shown = repr(str(path))
    if path.is_dir():
        return f"{shown} is not a saved_model folder: it contains no saved_model.pb"
    if path.suffix.lower() in _UNSAFE:
        return (
            f"{shown} {_UNSAFE[path.suffix.lower()]}: write a function that builds the model, and pass FILE.py:function"
        )
    if path.suffix in SUFFIXES:
        return f"no such file: {shown}"
    return f"{shown}: expected FILE.py:function, module:function, {_FILES}, or a saved_model folder"


def versions_of(framework: AnyFramework) -> dict[str, str]:
    """Versions of the libraries involved in a conversion."""
    found = {name: version_of(names) for name, names in {**framework.libraries, "onnx": ("onnx",)}.items()}
    return {name: number for name, number in found.items() if number}


def export(framework: AnyFramework, source: object, request: ExportRequest) -> onnx.ModelProto:
    """Convert a model."""
    for name in request.options:
        if name not in framework.options:
            raise BadOption.unknown(
                f"option of {framework.converter}", name, framework.options, option="converter_options"
            )
    try:
        with _quiet():
            return framework.export(source, request)
    except (BadInput, KeyboardInterrupt):
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] in framework.libraries:
            raise MissingExtra(str(error.name), framework.name) from error
        raise BadInput(_refusal(framework, error)) from error


def _refusal(framework: AnyFramework, error: Exception) -> str:
    # torch writes the cause after a page of advice
    text = str(error).rpartition("## Exception summary")[2].partition("(Refer to the full")[0]
    line = " ".join(text.split())
    shown = line if len(line) <= 300 else f"{line[:300]}…"
    return f"{framework.converter} cannot convert this model: {type(error).__name__}: {shown}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Converters issue many warnings about themselves; results are checked afterwards anyway."""
    disabled = logging.root.manager.disable
    unread = io.StringIO()
    with (
        quiet_libraries(),
        warnings.catch_warnings(),
        contextlib.redirect_stdout(unread),
        contextlib.redirect_stderr(unread),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(disabled)
