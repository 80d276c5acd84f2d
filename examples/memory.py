"""What does one prediction really cost, in memory and in Python? A linear regression, and a tiny classifier.

Predicts 270,000 rows of 200 numbers with scikit-learn, with numpy and with onnxruntime, from float64 that is cast in
every call and from float32. Prints the peaks as the kernel knows them, memory line by line, and the trees of Python
calls; draws resident memory over time; then answers the questions from these numbers.

usage: python examples/memory.py [folder for the pictures] [--rows 300000] [--calls 20000] [--quick]
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import onnx
import sklearn
from pandas import DataFrame, concat
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.model_selection import train_test_split

import onnxperf
from onnxperf import BenchResult, MemoryResult, StackResult

FEATURES, OUTPUTS, TRAINED = 200, 50, 0.1
RUNTIMES = ("numpy", "ort")
QUICK = {"rows": 3_000, "calls": 500}
QUICK_TREE = {"sample_every": "0.05ms", "threads": 1, "calls": 300}
"""A cast of few rows is over before the usual 0.5 ms, and is hidden where threads of a kernel wait for busy cores."""
SCRIPT = """
import numpy, onnxperf, sklearn
from skl2onnx import to_onnx
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

X = numpy.random.random(({rows}, {features}))
y = X.sum(axis=1, keepdims=True) + numpy.random.random(({rows}, {outputs}))
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size={trained})
clr = LinearRegression().fit(X_train, y_train)
oinfpy = onnxperf.load(to_onnx(clr, X_train[:1].astype(numpy.float32)), runtime="numpy")
X_test32 = X_test.astype(numpy.float32)
sklearn.set_config(assume_finite=True)


def predict():
    {line}
"""
LINES = {
    "clr_predict": "clr.predict(X_test)",
    "onnx_run": 'oinfpy.run({"X": X_test32})',
    "onnx_run32": 'oinfpy.run({"X": X_test.astype(numpy.float32)})',
}


class Regression(NamedTuple):
    """A fitted regression, its model in a file, and what it predicts from."""

    clr: LinearRegression
    path: Path
    X: np.ndarray
    X32: np.ndarray

    @property
    def result_bytes(self) -> int:
        """Size of what scikit-learn returns."""
        return len(self.X) * OUTPUTS * 8

    def predict(self, assume_finite: bool) -> Callable[[], Any]:
        """A call of scikit-learn, for another process."""
        clr, X = self.clr, self.X

        def predict() -> Any:
            with sklearn.config_context(assume_finite=assume_finite):
                return clr.predict(X)

        return predict


def main() -> None:
    """Fit, probe, look into the calls, answer."""
    options = parsed()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="onnxperf-memory-"))
    folder.mkdir(parents=True, exist_ok=True)
    regression = fitted(options.rows, folder)

    heading("Peaks of resident memory, in MB")
    peaks = probed(regression, folder)
    print(peaks.round(1).to_string())
    heading("Memory line by line")
    show_lines(options.rows, folder)
    heading("Where the time goes")
    time_s = 1.0 if options.quick else None
    split = onnxperf.bench(
        regression.path, feeds={"X": regression.X}, cast=True, runtime=RUNTIMES, split=True, time=time_s
    )
    print(split, "\n")
    show_trees(regression, QUICK_TREE if options.quick else {})
    heading("SGDClassifier: many tiny calls")
    tiny = called_often(options.calls, folder)
    heading("Answers")
    for answer in answers(peaks, split, tiny, regression):
        print(fill(f"- {answer}", 100, subsequent_indent="  "))
    print(f"\nthe pictures are in {folder}")


def parsed() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the pictures go; a temporary folder by default")
    parser.add_argument("--rows", type=int, default=300_000, help="rows, a tenth of them to train")
    parser.add_argument("--calls", type=int, default=20_000, help="calls of the tiny classifier")
    parser.add_argument("--quick", action="store_true", help="few rows, few calls")
    options = parser.parse_args()
    return argparse.Namespace(**{**vars(options), **QUICK}) if options.quick else options


def heading(text: str) -> None:
    """The title of a section."""
    print(f"\n{text}\n{'=' * len(text)}\n", flush=True)


def fitted(rows: int, folder: Path) -> Regression:
    """Train on a tenth of the rows, and convert for float32."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, FEATURES))
    y = X.sum(axis=1, keepdims=True) + rng.random((rows, OUTPUTS))
    X_train, X_test, y_train, _ = train_test_split(X, y, train_size=TRAINED, random_state=0)
    clr = LinearRegression().fit(X_train, y_train)
    path = folder / "linear.onnx"
    onnx.save(to_onnx(clr, X_train[:1].astype(np.float32)), path)
    print(f"X_test: {X_test.shape}, {X_test.nbytes / 1e6:.0f} MB as float64, {X_test.nbytes / 2e6:.0f} MB as float32")
    return Regression(clr, path, X_test, X_test.astype(np.float32))


# ---------------------------------------------------------------- memory


def probed(regression: Regression, folder: Path) -> DataFrame:
    """The peaks of all ways to predict, one row each; their curves go into the folder."""
    path = regression.path
    skl = {"skl": regression.predict(assume_finite=False), "skl assume_finite": regression.predict(assume_finite=True)}
    results = {
        "": onnxperf.memory(skl),
        " cast": onnxperf.memory(path, feeds={"X": regression.X}, cast=True, runtime=RUNTIMES),
        " float32": onnxperf.memory(path, feeds={"X": regression.X32}, runtime=RUNTIMES),
    }
    for name, result in results.items():
        result.save(folder / f"memory_{name.strip() or 'skl'}.png")
    return concat([table(result, name) for name, result in results.items()])


def table(result: MemoryResult, suffix: str) -> DataFrame:
    """What a call needs above its inputs, what a step adds to what is resident, and what stays."""
    frame = result.to_df()
    columns = {
        "steady call peak": "steady_peak_bytes",
        "needs": "needed_bytes",
        "first call adds": "first_increment_bytes",
        "first call keeps": "first_kept_bytes",
        "steady call adds": "steady_increment_bytes",
    }
    sizes = DataFrame({title: frame[name] / 1e6 for title, name in columns.items()})
    return sizes.set_index(frame["name"] + suffix).rename_axis(None)


def show_lines(rows: int, folder: Path) -> None:
    """The three scripts, each in a process of its own."""
    for name, line in LINES.items():
        script = folder / f"mprof_{name}.py"
        sizes = {"rows": rows, "features": FEATURES, "outputs": OUTPUTS, "trained": TRAINED}
        script.write_text(SCRIPT.format(line=line, **sizes), encoding="utf-8")
        print(f"{onnxperf.memory_lines(f'{script}:predict')}\n", flush=True)


# ---------------------------------------------------------------- Python


def show_trees(regression: Regression, sampling: Mapping[str, Any]) -> None:
    """Trees of Python calls: scikit-learn, numpy with the cast in the call, and numpy without it."""
    print(onnxperf.stack(regression.predict(assume_finite=True), **sampling), "\n")
    print(onnxperf.stack(regression.path, {"X": regression.X}, cast=True, **sampling), "\n")
    print(onnxperf.stack(regression.path, {"X": regression.X32}, **sampling), flush=True)


def called_often(calls: int, folder: Path) -> StackResult:
    """A classifier of iris, one row at a time; its scores are those of scikit-learn."""
    X, y = load_iris(return_X_y=True)
    X_train, X_test, y_train, _ = train_test_split(X, y, random_state=0)
    sgd = SGDClassifier(random_state=0).fit(X_train, y_train)
    row = X_test[:1].astype(np.float32)
    expected = sgd.decision_function(row)
    zipped = to_onnx(sgd, row)
    path = folder / "sgd.onnx"
    onnx.save(zipped, path)
    plain = to_onnx(sgd, row, options={"zipmap": False})
    label, scores = onnxperf.load(zipped, runtime="numpy").run({"X": row}).values()
    _, array = onnxperf.load(plain, runtime="numpy").run({"X": row}).values()
    by_class = np.array([scores[0][each] for each in sgd.classes_])
    print(f"decision_function  {expected[0]}")
    print(f"with ZipMap        {by_class}, label {label[0]}")
    print(f"without ZipMap     {array[0]}\n")
    assert np.allclose(by_class, expected, rtol=1e-4)
    assert np.allclose(array, expected, rtol=1e-4)
    tree = onnxperf.stack(path, {"X": row}, calls=calls)
    print(tree, flush=True)
    return tree


# ---------------------------------------------------------------- answers


def answers(peaks: DataFrame, split: BenchResult, tiny: StackResult, regression: Regression) -> Iterator[str]:
    """The questions, answered from what was measured."""
    needs, adds, keeps = (peaks[name] for name in ("needs", "steady call adds", "first call keeps"))
    result_mb, copy_mb = regression.result_bytes / 1e6, regression.X32.nbytes / 1e6
    skl = "skl assume_finite"
    yield (
        f"How much memory does predict take above its inputs? {needs[skl]:.1f} MB: every call adds {adds[skl]:.1f} MB, "
        f"{adds[skl] / result_mb:.1f} times its result of {result_mb:.1f} MB, and the first call leaves "
        f"{keeps[skl]:.1f} MB behind."
    )
    yield (
        f"Does checking for finite numbers take memory? It needs {needs['skl']:.1f} MB with the check and "
        f"{needs[skl]:.1f} MB without it (assume_finite)."
    )
    yield (
        f"Do the runtimes need more than scikit-learn? From float32, numpy needs {needs['numpy float32']:.1f} MB and "
        f"onnxruntime {needs['ort float32']:.1f} MB; with the cast in the call {needs['numpy cast']:.1f} MB and "
        f"{needs['ort cast']:.1f} MB."
    )
    shares = {each.name: each.split.prepare_ns / each.split.total_ns for each in split.cases[0].subjects if each.split}
    yield (
        f"What does the cast cost? A copy of {copy_mb:.1f} MB in every call (measured: numpy "
        f"{needs['numpy cast'] - needs['numpy float32']:+z.1f} MB, onnxruntime "
        f"{needs['ort cast'] - needs['ort float32']:+z.1f} MB), and of the time of the calls that were divided "
        + " and ".join(f"{100 * share:.0f} % with {name}" for name, share in shares.items())
        + "."
    )
    yield f"What does a tiny call cost? {tiny.record.call_ns / 1000:.1f} µs. {tiny.answer}"


if __name__ == "__main__":
    main()
