"""Is the numpy runtime complete, and is it fast? Coverage of onnx's own tests, and races against its peers.

usage: python -m benchmarks.numpy_runtime [--print] [part ...]
parts: coverage small light calls einsum, all without a part; --print keeps nothing
"""

from __future__ import annotations

import gc
import math
import sys
import tempfile
import time
import timeit
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
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
from benchmarks.einsum import use_private_cache
from benchmarks.kept import keep
from onnxperf.contraction.equation import parse
from onnxperf.runtimes.find import find_runtime
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
        result = onnxperf.bench(path, runtime="numpy,reference", blocks=3, calls_per_block=1, warmup=0, timeout=600)
        ours, theirs = (result[name].median_ns or math.nan for name in ("numpy", "reference"))
        lines.append(f"| {path.stem} | {ours / 1e6:.0f} ms | {theirs / 1e6:.0f} ms | {theirs / ours:.1f}x |")
        print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, "", "Goal: at least 10x each."]


# ---------------------------------------------------------------- what a user calls

ROUNDS, BLOCK_S, RACE_S = 300, 0.0004, 3.0
SHORT_US = 100
"""Models that take longer cannot show a difference of a microsecond."""
Functions = Mapping[str, Callable[[], object]]
Times = dict[str, npt.NDArray[np.float64]]
"""Microseconds per call of each function in every round."""


def take_turns(functions: Functions) -> Times:
    """Short blocks of calls in turn in this process, in an order that alternates."""
    clock = time.perf_counter
    for function in functions.values():
        function()
    each_s = {name: min(timeit.repeat(function, number=1, repeat=5)) for name, function in functions.items()}
    calls = {name: max(1, int(BLOCK_S / seconds)) for name, seconds in each_s.items()}
    rounds = int(RACE_S / sum(seconds * calls[name] for name, seconds in each_s.items()))
    blocks: dict[str, list[float]] = {name: [] for name in functions}
    gc.disable()
    for turn in range(max(10, min(rounds, ROUNDS))):
        for name in sorted(functions, reverse=bool(turn % 2)):
            function, turns = functions[name], range(calls[name])
            function()
            start = clock()
            for _ in turns:
                function()
            blocks[name].append((clock() - start) / calls[name] * 1e6)
    gc.enable()
    return {name: np.array(each) for name, each in blocks.items()}


def ratio(times: Times, name: str, other: str) -> float:
    """How many times as long one takes as another: the median over rounds."""
    return float(np.median(times[name] / times[other])) if other in times else math.nan


def above(times: Times, name: str, other: str) -> float:
    """How many microseconds longer one takes than another: the median over rounds."""
    return float(np.median(times[name] - times[other]))


def goal(text: str, figure: float, limit: float, unit: str) -> str:
    """A line that says whether a goal was reached."""
    word = "reached" if figure <= limit else "MISSED"
    return f"- {text}: {word}, {figure:.2f} {unit} (goal at most {limit:g})"


def _plain_session(model: bytes) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def calls() -> list[str]:
    """`load(...).run` against numpy by hand, session.run and onnx.reference; call styles against their bound calls."""
    heading = "| model | numpy | of by hand | of onnx.reference | ort | session.run | above session.run |"
    lines, raced = [heading, "|---" * 7 + "|"], {}
    cases = _small()
    for name, (model, feeds, rivals) in cases.items():
        data = model.SerializeToString()
        ours = {runtime: onnxperf.load(data, runtime=runtime, threads=1) for runtime in ("numpy", "ort")}
        session, reference = _plain_session(data), ReferenceEvaluator(model)
        functions: dict[str, Callable[[], object]] = {
            "numpy": partial(ours["numpy"].run, feeds),
            "ort": partial(ours["ort"].run, feeds),
            "session.run": partial(session.run, None, feeds),
            "onnx.reference": partial(reference.run, None, feeds),
        }
        if "by hand" in rivals:
            functions["by hand"] = partial(rivals["by hand"], *feeds.values())
        raced[name] = times = take_turns(functions)
        medians = {each: float(np.median(values)) for each, values in times.items()}
        hand = f"{ratio(times, 'numpy', 'by hand'):.2f}" if "by hand" in times else ""
        shown = [hand, f"{ratio(times, 'numpy', 'onnx.reference'):.3f}", f"{medians['ort']:.2f} us"]
        shown += [f"{medians['session.run']:.2f} us", f"{above(times, 'ort', 'session.run'):+.2f} us"]
        lines.append(f"| {name} | {medians['numpy']:.2f} us | {' | '.join(shown)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    linear = "linear 1000x10"
    short = [name for name, times in raced.items() if np.median(times["session.run"]) < SHORT_US]
    beyond = {name: above(raced[name], "ort", "session.run") for name in short}
    worst = max(beyond, key=beyond.__getitem__)
    return [
        *lines,
        "",
        "`onnxperf.load(model, threads=1).run(feeds)` of both runtimes, all in one process in turn, medians of rounds.",
        "",
        *_styles(*cases[linear][:2]),
        goal(f"numpy, {linear}, of numpy by hand", ratio(raced[linear], "numpy", "by hand"), 1.25, "times"),
        goal(f"ort above session.run, worst below {SHORT_US} us ({worst})", beyond[worst], 1.0, "us"),
    ]


def _styles(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[str]:
    """`run` of every call style against its bound call."""
    lines = ["| linear 1000x10, call style | bound call | run | above |", "|---|---|---|---|"]
    goals = []
    for runtime in ("ort", "numpy"):
        for call in find_runtime(runtime).call_names:
            runner = onnxperf.load(model, runtime=runtime, call=call, threads=1)
            times = take_turns({"bound": runner.bind(feeds), "run": partial(runner.run, feeds)})
            bound, run = (float(np.median(times[name])) for name in ("bound", "run"))
            figure = above(times, "run", "bound")
            lines.append(f"| {runtime} {call} | {bound:.2f} us | {run:.2f} us | {figure:+.2f} us |")
            if call == "run":
                goals.append(goal(f"{runtime}: run above the bound call, linear 1000x10", figure, 1.0, "us"))
    note = """Part of `above`: ort-values makes and reads onnxruntime's values, io-binding-inplace copies its inputs,
and it and io-binding-fixed copy their outputs, as those of a run belong to the caller."""
    return [*lines, "", *note.splitlines(), "", *goals]


SMALL_TERMS = 5000
EQUATIONS: tuple[tuple[str, tuple[tuple[int, ...], ...]], ...] = (
    ("i,i->", ((16,), (16,))),
    ("ij,jk->ik", ((4, 4), (4, 4))),
    ("bsnh,btnh->bnts", ((4, 4, 4, 4), (4, 4, 4, 4))),
    ("abc,acd->abd", ((8, 8, 8), (8, 8, 8))),
    ("ij,jk->ik", ((64, 64), (64, 64))),
    ("bsnh,btnh->bnts", ((2, 32, 4, 16), (2, 32, 4, 16))),
    ("bsnh,btnh->bnts", ((20, 20, 20, 20), (20, 20, 20, 20))),
    ("bhqk,bkhd->bqhd", ((20, 20, 20, 20), (20, 20, 20, 20))),
)


def _einsum_functions(text: str, arrays: list[Any]) -> tuple[Functions, bool]:
    """Ours, the bare session of its plan and numpy's, with one thread each as idle pools spin; was the plan decided."""
    plan = onnxperf.optimize_einsum(text, [array.shape for array in arrays], threads=1)
    session, feeds = _plain_session(plan.model), {f"X{i}": array for i, array in enumerate(arrays)}
    functions: Functions = {
        "ours": lambda: onnxperf.einsum(text, *arrays, threads=1),
        "bare session": lambda: session.run(None, feeds),
        "numpy.einsum": lambda: np.einsum(text, *arrays),
    }
    return functions, plan.record.winner is not None


def einsum() -> list[str]:
    """`onnxperf.einsum` against the bare session of its plan and numpy.einsum; plans are searched first."""
    heading = "| equation | shape | onnxperf.einsum | bare session | above it | numpy.einsum | of numpy.einsum |"
    lines, beyond, small = [heading, "|---" * 7 + "|"], {}, {}
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        use_private_cache(folder)
        for text, shapes in EQUATIONS:
            functions, decided = _einsum_functions(text, [random.standard_normal(s).astype(np.float32) for s in shapes])
            times, size = take_turns(functions), "x".join(map(str, shapes[0]))
            beyond[f"{text} {size}"] = above(times, "ours", "bare session")
            if parse(text, shapes).products <= SMALL_TERMS:
                small[f"{text} {size}"] = ratio(times, "ours", "numpy.einsum")
            ours, bare, numpys = (f"{np.median(times[name]):.2f} us" for name in functions)
            relative = f"{ratio(times, 'ours', 'numpy.einsum'):.2f}{'' if decided else ' (plan undecided)'}"
            cells = [text, size, ours, bare, f"{beyond[f'{text} {size}']:+.2f} us", numpys, relative]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    farthest, slowest = max(beyond, key=beyond.__getitem__), max(small, key=small.__getitem__)
    return [
        *lines,
        "",
        goal(f"above the bare session, worst equation ({farthest})", beyond[farthest], 3.0, "us"),
        goal(f"of numpy.einsum, worst small equation ({slowest})", small[slowest], 1.1, "times"),
    ]


PARTS: dict[str, Callable[[], list[str]]] = {
    "coverage": coverage,
    "small": small,
    "light": light,
    "calls": calls,
    "einsum": einsum,
}


def main() -> None:
    """Run the parts that are named, or all."""
    warnings.simplefilter("ignore")
    names = [name for name in sys.argv[1:] if name != "--print"]
    for name in names or PARTS:
        lines = PARTS[name]()
        if "--print" in sys.argv:
            print("\n".join(lines))
        else:
            keep(f"numpy runtime: {name}", lines)


if __name__ == "__main__":
    main()
