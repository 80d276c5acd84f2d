"""Write the models and data of the documents into a folder, next to the scripts that fit the estimators."""

from __future__ import annotations

import shutil
from contextlib import chdir
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import onnx
from skl2onnx import to_onnx
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression

from examples.documents.step import Sizes
from examples.profile_model import make_model

SOURCES = Path(__file__).parent / "sources"
FEATURES, OUTPUTS = 200, 50
"""Of the large regression."""


def prepare(folder: Path, sizes: Sizes) -> None:
    """Write all of them; estimators are fitted again by the scripts, as nothing is pickled."""
    for source in SOURCES.glob("*.py"):
        shutil.copy(source, folder)
    random = np.random.default_rng(0)
    with chdir(folder):
        np.save("X.npy", random.standard_normal((1000, 10)).astype(np.float32))
        regression, X = source_of("linear.py")["make_model"]()
        onnx.save(to_onnx(regression, X, black_op={"LinearRegressor"}), "linear.onnx")  # MatMul, Add, Reshape

        onnx.save(make_model(sizes.image), "small.onnx")
        np.save("points.npy", make_classification(sizes.points, random_state=0)[0])

        X = random.random((sizes.rows, FEATURES))
        y = X.sum(axis=1, keepdims=True) + random.random((sizes.rows, OUTPUTS))
        trained = sizes.rows // 10
        np.savez("train.npz", X=X[:trained], y=y[:trained])
        np.save("large.npy", X[trained:])
        large = LinearRegression().fit(X[:trained], y[:trained])
        onnx.save(to_onnx(large, X[:1].astype(np.float32)), "large.onnx")

        classifier, row = source_of("iris.py")["make_model"]()
        np.save("iris.npy", row)
        onnx.save(to_onnx(classifier, row), "sgd.onnx")


def source_of(script: str) -> dict[str, Any]:
    """What a script of the folder defines."""
    return run_path(script)
