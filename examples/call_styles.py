"""Which way of calling onnxruntime is fastest for a small model, against scikit-learn and runtimes in Python?

Trains a linear regression, converts it to three ONNX operators, and races every call style on 1000 rows. Prints the
table, in seconds per call over 250 blocks of 250 calls, and draws the chart.

usage: python examples/call_styles.py [folder for call_styles.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.linear_model import LinearRegression

import onnxperf

REPEAT = NUMBER = 250
COLUMNS = ["name", "average", "deviation", "min_exec", "max_exec", "repeat", "number", "ttime", "context_size"]


def main() -> None:
    """Train, convert, race, show."""
    X = np.random.default_rng(0).standard_normal((1000, 10)).astype(np.float32)
    model = LinearRegression().fit(X, X.sum(axis=1))
    onx = to_onnx(model, X, black_op={"LinearRegressor"})  # MatMul, Add, Reshape instead of one ai.onnx.ml operator

    result = onnxperf.bench(
        onx,
        call="all",
        runtime=["ort", "numpy", "reference"],
        feeds={"X": X},
        against={"skl": model.predict},
        baseline="skl",
        threads=1,
        blocks=REPEAT,
        calls_per_block=NUMBER,
    )
    print(result.to_df()[COLUMNS].to_string())
    print()
    print(result)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    result.save(folder / "call_styles.png")
    print(f"\nThe chart is in {folder / 'call_styles.png'}.")


if __name__ == "__main__":
    main()
