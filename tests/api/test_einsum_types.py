"""A graph for an einsum whose result has another type computes something else, whatever its numbers are."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from onnx import parser

from onnxperf.api._shared.einsum_race import CandidateRace, EinsumRequest
from onnxperf.contraction.equation import parse

PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[2, 3] X0, int64[3, 2] X1) => ({kind}[2, 2] Y) {{ P = MatMul(X0, X1)  Y = {last}(P) }}"""


def candidate(name: str, kind: str, last: str) -> Any:
    """What a search needs of a graph."""
    return SimpleNamespace(name=name, cost_us=1.0, model=parser.parse_model(PRODUCT.format(kind=kind, last=last)))


def test_a_graph_that_returns_another_type_is_left_out(tmp_path: Path) -> None:
    graphs = [candidate("right", "int64", "Identity"), candidate("floats", "float", "Cast<to = 1>")]
    equation = parse("ij,jk->ik", [(2, 3), (3, 2)])
    request = EinsumRequest(equation, "int64", opset=17, portable=False, runtime="ort", threads=1)
    operands = [np.arange(6).reshape(2, 3), np.arange(6).reshape(3, 2)]
    end = CandidateRace(request, tmp_path, cast("Any", graphs), operands).search(10.0, lambda _done, _text: None)
    assert end.notes == ["floats computes a different result and was left out"]
    assert end.found.finalists == [0]
