"""Is the numpy runtime complete, and is it fast? Coverage of onnx's own tests, and races against its peers.

usage: python -m benchmarks.numpy_runtime [part ...]      (coverage small light; all without a part)
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier

import onnxperf
from benchmarks.report import keep
from onnxperf.runtimes.numpy.session import NumpySession

Run = Callable[[onnx.ModelProto, dict[str, Any]], list[Any]]


# ---------------------------------------------------------------- coverage


def _by_numpy(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    return list(NumpySession(model).bind("run", feeds, {})())


def _by_reference(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    outputs: Any = ReferenceEvaluator(model).run(None, feeds)
    return list(outputs)


def _by_ort(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds))


RUNTIMES: dict[str, Run] = {"numpy": _by_numpy, "onnx.reference": _by_reference, "onnxruntime": _by_ort}


def agrees(expected: Any, got: Any, rtol: float, atol: float) -> bool:
    """As onnx's own backend runner compares."""
    if isinstance(expected, list):
        return len(expected) == len(got) and all(agrees(e, g, rtol, atol) for e, g in zip(expected, got, strict=True))
    if expected is None or got is None:
        return expected is got
    expected, got = np.asarray(expected), np.asarray(got)
    if expected.dtype != got.dtype or expected.shape != got.shape:
        return False
    if expected.dtype.kind in "OUS":
        return bool((expected == got).all())
    wide = [each.astype(np.float64) if each.dtype.kind == "V" else each for each in (expected, got)]
    return bool(np.allclose(wide[1], wide[0], rtol=rtol, atol=atol, equal_nan=True))


def passes(run: Run, case: Any) -> bool:
    """Whether a runtime gives what a backend test expects, on all of its data."""
    try:
        for inputs, outputs in case.data_sets:
            names = [value.name for value in case.model.graph.input]
            given = dict(zip(names, map(_value, inputs), strict=False))
            got = run(case.model, given)
            if not all(agrees(_value(e), g, case.rtol, case.atol) for e, g in zip(outputs, got, strict=True)):
                return False
    except Exception:
        return False
    return True


def _value(data: Any) -> Any:
    return numpy_helper.to_array(data) if isinstance(data, onnx.TensorProto) else data


def coverage() -> list[str]:
    """Onnx's node tests, with each case's own tolerance."""
    cases = load_model_tests(kind="node")
    passed = {name: {c.name for c in cases if passes(run, c)} for name, run in RUNTIMES.items()}
    missed = sorted(passed["onnx.reference"] - passed["numpy"])
    lines = [f"- {name}: {len(found)} of {len(cases)}" for name, found in passed.items()]
    return [*lines, f"- passed by onnx.reference and not by numpy: {', '.join(missed) or 'none'}"]


# ---------------------------------------------------------------- races


def _small() -> dict[str, tuple[onnx.ModelProto, dict[str, Any], dict[str, Callable[..., Any]]]]:
    """Model, feeds, and rivals: scikit-learn, and the same in numpy by hand."""
    rng = np.random.default_rng(0)
    X10 = rng.standard_normal((1000, 10)).astype(np.float32)
    linear = LinearRegression().fit(X10, X10.sum(axis=1))
    weights, shift = linear.coef_.astype(np.float32), np.float32(linear.intercept_)
    X, y = make_classification(1000, 20, n_informative=10, n_classes=3, random_state=0)
    X = X.astype(np.float32)
    quiet = {"zipmap": False}
    sgd, logistic = SGDClassifier(random_state=0).fit(X, y), LogisticRegression(max_iter=500).fit(X, y)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    mlp = MLPClassifier((32, 16), max_iter=200, random_state=0).fit(X, y)
    X20 = rng.standard_normal((10000, 20)).astype(np.float32)
    kmeans = KMeans(8, n_init=1, random_state=0).fit(X20)
    centers = kmeans.cluster_centers_.astype(np.float32)
    norms = (centers**2).sum(axis=1)

    def by_hand(x: Any) -> Any:
        return (x @ weights + shift).reshape(-1, 1)

    def kmeans_by_hand(x: Any) -> Any:
        distances = norms - 2 * (x @ centers.T) + (x**2).sum(axis=1, keepdims=True)
        return distances.argmin(axis=1), np.sqrt(np.maximum(distances, 0))

    sgd_onnx = to_onnx(sgd, X[:1], options={SGDClassifier: quiet})
    logistic_onnx = to_onnx(logistic, X[:1], options={LogisticRegression: quiet})
    forest_onnx = to_onnx(forest, X[:1], options={RandomForestClassifier: quiet})
    mlp_onnx = to_onnx(mlp, X[:1], options={MLPClassifier: quiet})
    linear_onnx = to_onnx(linear, X10, black_op={"LinearRegressor"})
    return {
        "linear 1000x10": (linear_onnx, {"X": X10}, {"by hand": by_hand, "skl": linear.predict}),
        "linear 1x10": (linear_onnx, {"X": X10[:1]}, {"skl": linear.predict}),
        "SGD 1 row": (sgd_onnx, {"X": X[:1]}, {"skl": sgd.predict}),
        "logistic 1 row": (logistic_onnx, {"X": X[:1]}, {"skl": logistic.predict}),
        "logistic 1000 rows": (logistic_onnx, {"X": X}, {"skl": logistic.predict}),
        "MLP 1 row": (mlp_onnx, {"X": X[:1]}, {"skl": mlp.predict}),
        "forest 1 row": (forest_onnx, {"X": X[:1]}, {"skl": forest.predict}),
        "forest 1000 rows": (forest_onnx, {"X": X}, {"skl": forest.predict}),
        "KMeans 10000x20": (to_onnx(kmeans, X20), {"X": X20}, {"by hand": kmeans_by_hand, "skl": kmeans.predict}),
        "KMeans 1 row": (to_onnx(kmeans, X20), {"X": X20[:1]}, {"skl": kmeans.predict}),
    }


def small() -> list[str]:
    """Small models of scikit-learn, each in one race."""
    lines = ["| model | numpy | onnx.reference | onnxruntime | by hand | scikit-learn |", "|---|---|---|---|---|---|"]
    ratios: dict[str, float] = {}
    for name, (model, feeds, rivals) in _small().items():
        result = onnxperf.bench(
            model, runtime="numpy,reference,ort", feeds=feeds, against=rivals, threads=1, baseline="numpy"
        )
        ours = result["numpy"].median_ns or math.nan
        relative = {s.name: (s.median_ns or math.nan) / ours for s in result.subjects}
        ratios[name] = relative["reference"]
        shown = [f"{relative[key]:.2f}x" if key in relative else "" for key in ("reference", "ort", "by hand", "skl")]
        lines.append(f"| {name} | {ours / 1000:.1f} us | {' | '.join(shown)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    group = ["linear 1000x10", "SGD 1 row", "logistic 1 row", "logistic 1000 rows", "MLP 1 row"]
    mean = math.exp(sum(math.log(ratios[name]) for name in group) / len(group))
    told = f"Against onnx.reference, geometric mean over {', '.join(group)}: {mean:.1f}x; goal at least 8."
    return [*lines, "", "Columns are times relative to numpy: above 1 is slower.", told]


def light() -> list[str]:
    """The nine light CNNs of the onnx wheel, three blocks of one call each."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    lines = ["| model | numpy | onnx.reference | ratio |", "|---|---|---|---|"]
    for path in sorted(folder.glob("light_*.onnx")):
        result = onnxperf.bench(path, runtime="numpy,reference", blocks=3, calls=1, warmup=0, timeout=600)
        ours, theirs = (result[name].median_ns or math.nan for name in ("numpy", "reference"))
        lines.append(f"| {path.stem} | {ours / 1e6:.0f} ms | {theirs / 1e6:.0f} ms | {theirs / ours:.1f}x |")
        print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, "", "Goal: at least 10x each."]


PARTS: dict[str, Callable[[], list[str]]] = {"coverage": coverage, "small": small, "light": light}


def main() -> None:
    """Run the parts that are named, or all."""
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or PARTS:
        keep(f"numpy runtime: {name}", PARTS[name]())


if __name__ == "__main__":
    main()
