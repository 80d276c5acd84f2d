"""`onnxperf.toy`: count the nodes of a model."""

from __future__ import annotations

from collections import Counter

from onnxperf.analyze.answers.toy import toy_answer  # type: ignore[import-not-found]
from onnxperf.records.toy import Toy  # type: ignore[import-not-found]
from onnxperf.results.toy import ToyResult  # type: ignore[import-not-found]

from onnxperf.api._shared.opening import Source, open_source


def toy(model: Source) -> ToyResult:
    """Count the nodes of a model."""
    opened = open_source(model)
    operators = dict(Counter(node.op_type for node in opened.proto.graph.node))
    return ToyResult(Toy(model=opened.label, operators=operators, answer=toy_answer(opened.label, operators)))
