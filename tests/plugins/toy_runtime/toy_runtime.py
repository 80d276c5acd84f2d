"""A runtime in a package of its own: it multiplies matrices, and nothing else."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from onnxperf.errors import BadModel
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.runtimes.base import Arrays, Call, CallStyle, Casts, RuntimeDescription, Session, cast_feeds, read_proto


class ToySession(Session):
    """One matrix product."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.input_names = (graph.input[0].name,)
        self.output_names = (graph.output[0].name,)
        self.conditions = {"toy": "1.0"}
        self._weights = numpy_helper.to_array(graph.initializer[0])

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        matrix = cast_feeds(feeds, casts)[self.input_names[0]]
        return partial(self._product, matrix, backwards=call == "backwards")

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        return {**feeds, self.output_names[0]: self.bind("run", feeds, {})()[0]}

    def _product(self, matrix: np.ndarray[Any, Any], backwards: bool) -> list[np.ndarray[Any, Any]]:
        return [(self._weights.T @ matrix.T).T if backwards else matrix @ self._weights]


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> Session:
    del options, recording
    graph = read_proto(model).graph
    if [node.op_type for node in graph.node] != ["MatMul"]:
        raise BadModel("toy multiplies matrices, and nothing else")
    return ToySession(graph)


TOY = RuntimeDescription(
    name="toy", calls=(CallStyle(name="run"), CallStyle(name="backwards")), load=lambda: open_session
)
