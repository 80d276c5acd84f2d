"""Document 003: predictions of many rows, with scikit-learn and with the numpy runtime."""

import numpy as np
import sklearn
from sklearn.linear_model import LinearRegression

import onnxperf

train, X_test = np.load("train.npz"), np.load("large.npy")
X_test32 = X_test.astype(np.float32)
clr = LinearRegression().fit(train["X"], train["y"])
runner = onnxperf.load("large.onnx", runtime="numpy")
sklearn.set_config(assume_finite=True)


def predict() -> None:
    clr.predict(X_test)


def run_float32() -> None:
    runner.run({"X": X_test32})


def run_cast() -> None:
    runner.run({"X": X_test.astype(np.float32)})
