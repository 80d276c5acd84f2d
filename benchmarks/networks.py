"""Light networks of the onnx wheel and small models: numpy runtime, onnx.reference and onnxruntime in one table.

usage: python -m benchmarks.networks [name ...]      (rows whose names contain one of these; all without a name)
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from benchmarks.kept import keep
from onnxperf.runtimes.numpy.compile import Compiler
from onnxperf.runtimes.numpy.session import NumpySession

Feeds = dict[str, Any]
Call = Callable[[], Any]
OURS, UNFUSED, REFERENCE, ORT = "numpy", "numpy, node by node", "onnx.reference", "onnxruntime"
LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

BLOCK_S = 0.01
"""A subject's turn: as many calls as this takes, at least one."""
ROW_S = 2.0
"""What the rounds of a row take, onnx.reference aside."""
REFERENCE_S = 0.5
"""Once onnx.reference has used as much, it takes no part in later rounds: some networks take it ten seconds."""
LEAST_ROUNDS = 5
TOLERANCE = 1e-3
"""Relative to the largest element of an output."""


# ---------------------------------------------------------------- models


def _small() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
    X10 = np.random.default_rng(0).standard_normal((1000, 10)).astype(np.float32)
    X, y = make_classification(10000, 20, n_informative=10, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    linear = to_onnx(LinearRegression().fit(X10, X10.sum(axis=1)), X10, black_op={"LinearRegressor"})
    yield "linear 1x10", linear, {"X": X10[:1]}
    yield "linear 1000x10", linear, {"X": X10}
    classifiers = {
        "logistic regression": LogisticRegression(max_iter=500),
        "SGD": SGDClassifier(random_state=0),
        "MLP": MLPClassifier((32, 16), max_iter=200, random_state=0),
    }
    for name, classifier in classifiers.items():
        fitted = classifier.fit(X[:1000], y[:1000])
        model = to_onnx(fitted, X[:1], options={type(fitted): {"zipmap": False}})
        yield f"{name} 1x20", model, {"X": X[:1]}
        yield f"{name} 1000x20", model, {"X": X[:1000]}
    kmeans = to_onnx(KMeans(8, n_init=1, random_state=0).fit(X), X)
    yield "KMeans 1x20", kmeans, {"X": X[:1]}
    yield "KMeans 10000x20", kmeans, {"X": X}


def _light() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
    for path in sorted(LIGHT.glob("light_*.onnx")):
        model = onnx.load(path)
        initialised = {tensor.name for tensor in model.graph.initializer}
        (image,) = [value for value in model.graph.input if value.name not in initialised]
        shape = [dim.dim_value or 1 for dim in image.type.tensor_type.shape.dim]
        feeds = {image.name: np.random.default_rng(0).random(shape, dtype=np.float32)}
        yield path.stem, with_random_weights(model), feeds


def with_random_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same network with weights in it: those of light networks are computed and all equal, which hides mistakes."""
    rng, graph = np.random.default_rng(0), model.graph
    shapes = {tensor.name: tuple(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "ConstantOfShape"]:
        shape = shapes[node.input[0]]
        # Scales and variances must be positive, and sums of weights neither explode nor vanish.
        if len(shape) < 2:
            values = rng.uniform(0.5, 1.5, shape)
        else:
            values = rng.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]))
        graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), node.output[0]))
        graph.node.remove(node)
    model.ir_version = 8  # before 4, every initialiser is an input
    return model


# ---------------------------------------------------------------- subjects


def _ours(model: onnx.ModelProto, feeds: Feeds) -> Call:
    return NumpySession(model).bind("run", feeds, {})


def _unfused(model: onnx.ModelProto, feeds: Feeds) -> Call:
    """The same kernels without the passes over the graph."""
    program = Compiler(model, fuse=False).program()
    arguments = [feeds[name] for name in program.parameters]
    return lambda: program.function(*arguments)


def _ort(model: onnx.ModelProto, feeds: Feeds) -> Call:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.log_severity_level = 1, 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)


def _reference(model: onnx.ModelProto, feeds: Feeds) -> Call:
    evaluator = ReferenceEvaluator(model)
    return lambda: evaluator.run(None, feeds)


SUBJECTS = {OURS: _ours, UNFUSED: _unfused, REFERENCE: _reference, ORT: _ort}


def difference(got: list[Any], expected: list[Any]) -> float:
    """The largest, relative to the largest element of an output; labels must be equal."""
    return max(_difference(np.asarray(one), np.asarray(other)) for one, other in zip(got, expected, strict=True))


def _difference(got: Any, expected: Any) -> float:
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return np.inf
    if got.dtype.kind != "f":
        return 0.0 if np.array_equal(got, expected) else np.inf
    return float(np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-30))


# ---------------------------------------------------------------- one row


def _turn(call: Call, calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def race(subjects: dict[str, Call], first: dict[str, float]) -> dict[str, list[float]]:
    """Seconds per call and round; subjects take turns, in an order that rotates, until their time is over."""
    again = {name: min(_turn(subjects[name], 1) for _ in range(3)) for name in subjects if name != REFERENCE}
    calls = {name: max(1, int(BLOCK_S / seconds)) for name, seconds in (first | again).items()}
    times: dict[str, list[float]] = {name: [] for name in subjects}
    spent = dict.fromkeys(subjects, 0.0)
    while len(times[OURS]) < LEAST_ROUNDS or sum(spent.values()) - spent[REFERENCE] < ROW_S:
        order = list(subjects)
        shift = len(times[OURS]) % len(order)
        for name in order[shift:] + order[:shift]:
            if name == REFERENCE and spent[name] >= REFERENCE_S:
                times[name].append(np.nan)
                continue
            seconds = _turn(subjects[name], calls[name])
            times[name].append(seconds)
            spent[name] += seconds * calls[name]
    return times


def row(name: str, model: onnx.ModelProto, feeds: Feeds) -> str:
    """Compare the outputs, then race; every ratio is the median over rounds of time to our time in that round."""
    subjects = {key: make(model, feeds) for key, make in SUBJECTS.items()}
    first, outputs = {}, {}
    for key, call in subjects.items():
        start = time.perf_counter()
        outputs[key] = list(call())
        first[key] = time.perf_counter() - start
    off = {key: difference(each, outputs[ORT]) for key, each in outputs.items()}
    worst = max(off[OURS], off[UNFUSED])
    if not worst < TOLERANCE:
        return f"| {name} | outputs differ: {worst:.1e} | | | | |"
    times = {key: np.array(values) for key, values in race(subjects, first).items()}
    ours = times[OURS]
    shown = [
        f"{np.nanmedian(times[key] / ours):.2f}x{'' if off[key] < TOLERANCE else ' (other outputs)'}"
        for key in (UNFUSED, REFERENCE, ORT)
    ]
    median = np.median(ours)
    unit = f"{median * 1e6:.1f} us" if median < 1e-3 else f"{median * 1e3:.1f} ms"
    return f"| {name} | {unit} | {' | '.join(shown)} | {worst:.0e} |"


def table(wanted: list[str]) -> list[str]:
    """One row per model."""
    lines = [f"| model | {OURS} | {UNFUSED} | {REFERENCE} | {ORT} | largest difference |", "|---|---|---|---|---|---|"]
    for models in (_small, _light):
        for name, model, feeds in models():
            if not wanted or any(each in name for each in wanted):
                lines.append(row(name, model, feeds))
                print(lines[-1], file=sys.stderr, flush=True)
    return [
        *lines,
        "",
        "One thread each, taking turns in one process. The three columns after numpy are times relative to it: above 1 "
        "is slower. The last column: outputs of numpy against those of onnxruntime.",
        "Light networks have random weights. Other outputs of onnx.reference: it computes BatchNormalization of opset "
        "9 with the statistics of the batch, and Softmax of opset 9 along the last axis.",
    ]


def main() -> None:
    """Print the table, and keep it."""
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        keep("networks", table(sys.argv[1:]))


if __name__ == "__main__":
    main()
