"""The models of `benchmarks.tune`: ordinary ones, and those in which the cause of their slowness is planted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser


def mlp(width: int, rows: int | str, layers: int = 6, scale: float = 1.0) -> onnx.ModelProto:
    """Layers of MatMul and Relu; a text for `rows` is a symbolic dimension."""
    rng = np.random.default_rng(0)
    names = ["X", *(f"H{n}" for n in range(1, layers)), "Y"]
    body = " ".join(f"M{n} = MatMul({a}, W{n})  {b} = Relu(M{n})" for n, (a, b) in enumerate(itertools.pairwise(names)))
    graph = parser.parse_graph(f"mlp (float[{rows}, {width}] X) => (float[{rows}, {width}] Y) {{ {body} }}")
    weights = rng.standard_normal((layers, width, width), dtype=np.float32) * np.float32(scale / math.sqrt(width))
    graph.initializer.extend(numpy_helper.from_array(each, f"W{n}") for n, each in enumerate(weights))
    return _model(graph)


def denormals() -> onnx.ModelProto:
    """Powers of denormal numbers, which take longer even on processors that add and multiply them quickly."""
    start = "A = Abs(X)  S = Mul(A, small)"
    powers = " ".join(f"M{n} = Mul(S, c{n})  P{n} = Pow(M{n}, half)" for n in range(16))
    total = ", ".join(f"P{n}" for n in range(16))
    graph = parser.parse_graph(
        f"denormals (float[64, 256] X) => (float[64, 256] Y) {{ {start}  {powers}  Y = Sum(X, {total}) }}"
    )
    values = {"small": 1e-39, "half": 0.55, **{f"c{n}": 0.5 + n / 20 for n in range(16)}}
    graph.initializer.extend(
        numpy_helper.from_array(np.asarray(np.float32(each)), name) for name, each in values.items()
    )
    return _model(graph)


def einsums() -> onnx.ModelProto:
    """An Einsum node without a product of matrices, which onnxruntime computes slowly."""
    graph = parser.parse_graph(
        "einsums (float[64, 64, 64] A, float[64, 64, 64] B) => (float[64] Y)"
        '{ S = Einsum <equation = "bij,bij->b"> (A, B)  Y = Relu(S) }'
    )
    return _model(graph)


def cast_storm() -> onnx.ModelProto:
    """What every layer returns is cast to 16 bits and back."""
    layers = [f"A{n} = Cast <to = 10> (C{n})  B{n} = Cast <to = 1> (A{n})  C{n + 1} = Relu(B{n})" for n in range(12)]
    graph = parser.parse_graph(
        f"casts (float[256, 1024] X) => (float[256, 1024] Y) {{ C0 = Relu(X)  {' '.join(layers)}  Y = Relu(C12) }}"
    )
    return _model(graph)


def tiny_nodes() -> onnx.ModelProto:
    """An MLP of 4 columns whose time is all overhead of nodes."""
    return mlp(4, 1, layers=40)


def light(name: str) -> onnx.ModelProto:
    """A network that onnx ships, with random weights."""
    from benchmarks.networks import with_random_weights

    folder = Path(onnx.__path__[0]) / "backend" / "test" / "data" / "light"
    return with_random_weights(onnx.load(folder / f"{name}.onnx"))


def forest() -> onnx.ModelProto:
    """A forest of 50 trees."""
    from sklearn.ensemble import RandomForestRegressor

    return _from_sklearn(RandomForestRegressor(50, max_depth=8, random_state=0), True)


def kmeans() -> onnx.ModelProto:
    """Eight clusters."""
    from sklearn.cluster import KMeans

    return _from_sklearn(KMeans(8, n_init=1, random_state=0), False)


def linear() -> onnx.ModelProto:
    """A linear regression of 10 columns."""
    from sklearn.linear_model import LinearRegression

    return _from_sklearn(LinearRegression(), True)


def _from_sklearn(model: Any, is_supervised: bool) -> onnx.ModelProto:
    from skl2onnx import to_onnx

    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2000, 10)).astype(np.float32)
    model.fit(rows, *([rows.sum(axis=1)] if is_supervised else []))
    proto: onnx.ModelProto = to_onnx(model, rows[:1], target_opset=18)
    return proto


def _model(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@dataclass(frozen=True)
class Tuned:
    """A model and how it is tuned."""

    source: Callable[[], Any]
    keywords: dict[str, Any] = field(default_factory=dict)
    time_s: float = 120.0

    def shorter(self, times: int) -> Tuned:
        """The same in less time."""
        return Tuned(self.source, self.keywords, self.time_s / times)


ORDINARY: dict[str, Tuned] = {
    "BERT 1x10": Tuned(lambda: "zoo:bert-base", {"dims": {"batch": 1, "seq": 10}}, 300.0),
    "BERT 4x100": Tuned(lambda: "zoo:bert-base", {"dims": {"batch": 4, "seq": 100}}, 900.0),
    "ResNet-50 1": Tuned(lambda: "zoo:resnet50", {"dims": {"batch": 1}}, 300.0),
    "ResNet-50 8": Tuned(lambda: "zoo:resnet50", {"dims": {"batch": 8}}, 600.0),
    "light_shufflenet": Tuned(partial(light, "light_shufflenet")),
    "forest of 50, 1 row": Tuned(forest, {"shapes": {"X": (1, 10)}}),
    "KMeans, 1000 rows": Tuned(kmeans, {"shapes": {"X": (1000, 10)}}),
    "linear 1000x10": Tuned(linear, {"shapes": {"X": (1000, 10)}}),
    "MLP of tiny nodes": Tuned(tiny_nodes),
}
PLANTED: dict[str, Tuned] = {
    "denormals": Tuned(denormals),
    "Einsum nodes": Tuned(einsums),
    "a Cast storm": Tuned(cast_storm),
}
CAUSES = {"denormals": "set_denormal_as_zero", "Einsum nodes": "einsum", "a Cast storm": "cast_chain_elimination"}
