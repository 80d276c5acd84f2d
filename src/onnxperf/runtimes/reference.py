"""The runtime `reference`: onnx's own evaluator in Python."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadModel
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.runtimes.base import (
    Arrays,
    Call,
    CallStyle,
    Casts,
    OpenSession,
    RuntimeDescription,
    Session,
    cast_feeds,
    read_proto,
)
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    from onnx.reference import ReferenceEvaluator


def _load() -> OpenSession:
    importlib.import_module("onnx.reference")  # the import is not part of the time to load a model
    return open_session


RUNTIME = RuntimeDescription(name="reference", calls=(CallStyle(name="run"),), load=_load, distributions=("onnx",))


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> Session:
    """Load a model into onnx's reference evaluator; none of the `options` apply to it."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    del options, recording
    proto = read_proto(model)
    try:
        return ReferenceSession(ReferenceEvaluator(proto), onnx.__version__)
    except Exception as error:
        raise BadModel(f"onnx.reference cannot load the model: {one_line(error)}") from error


class ReferenceSession(Session):
    """A model in onnx's evaluator."""

    def __init__(self, evaluator: ReferenceEvaluator, version: str) -> None:
        self._evaluator = evaluator
        self.input_names = tuple(evaluator.input_names)
        self.output_names = tuple(evaluator.output_names)
        self.conditions = {"onnx": version}

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name."""
        values: Any = self._evaluator.run(None, dict(feeds), intermediate=True)
        return {name: value for name, value in values.items() if name}

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        """Prepare a call; there is only the style `run`."""
        del call
        run: Callable[..., list[Any]] = self._evaluator.run  # type: ignore[assignment]  # a dict only when asked for
        if casts:
            return lambda: run(None, cast_feeds(feeds, casts))
        return partial(run, None, dict(feeds))
