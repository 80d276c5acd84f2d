"""Models that compute nearly the same as another one: in int8, or in a shorter floating-point type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from onnxperf.api._quantization.quantizer import Quantizer, open_quantizer
from onnxperf.api._quantization.samples import samples_of
from onnxperf.api._quantization.search import WAYS
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.errors import BadInput, SubjectError

_BY_NAME = {way.name: way for way in WAYS}
_INT8 = {"int8 dynamic signed": "dynamic S8", "int8 dynamic unsigned": "dynamic U8"}
_CALIBRATED = {"int8 static": "static U8S8", "int8 static per channel": "static U8S8 per channel"}
"""Only with inputs to calibrate on: random ones would decide how wrong it is. They come first: if there are
convolutions, dynamic ways are slower than float32."""


def approximate_models(
    entry: Entry,
    settings: Settings,
    folder: Path,
    calls: Sequence[dict[str, Any]],
    goes_on: Callable[[], bool] = lambda: True,
) -> list[tuple[str, Path]]:
    """Names and files in `folder`; what cannot be made, or what onnxruntime cannot run here, is left out.

    `calls` are inputs to calibrate with, if there are some. `goes_on` says before each whether there is time for it.

    Inputs and outputs keep their names and types. Everything is made in a process of its own.
    """
    samples = samples_of(entry.model, entry.feeds, calls, settings.inputs, {})
    ways = {**(_CALIBRATED if calls else {}), **_INT8}
    found = []
    session = settings.variants[0].session
    try:
        with open_quantizer(entry.model, session, samples, folder, settings.limits) as quantizer:
            for name, make in _makers(quantizer, ways).items():
                path = _made(make) if goes_on() else None
                if path is not None:
                    found.append((name, path))
    except BadInput:
        return []  # what cannot be prepared cannot be converted
    return found


def _makers(quantizer: Quantizer, ways: dict[str, str]) -> dict[str, Callable[[], Path | None]]:
    def quantized(way: str) -> Path | None:
        model = quantizer.quantized(_BY_NAME[way])
        return model.path if model.nodes and quantizer.errors(model.path, 1) else None

    integers = {name: partial(quantized, way) for name, way in ways.items()}
    return {
        **integers,
        "float16": partial(quantizer.converted, "float16"),
        "bfloat16": partial(quantizer.converted, "bfloat16"),
    }


def _made(make: Callable[[], Path | None]) -> Path | None:
    try:
        return make()
    except (SubjectError, BadInput):
        return None
