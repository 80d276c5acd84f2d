"""Where does the time of a converted KMeans go?

Fits scikit-learn's KMeans, converts it, and profiles 111 predictions of 100,000 rows in two ways: through onnxperf's
runner, and with a bare onnxruntime session whose trace is read afterwards. Prints raw events and tables, and draws
the charts per operator and per node.

usage: python examples/profile_kmeans.py [folder for the pictures]
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from onnxruntime import InferenceSession, SessionOptions
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification

import onnxperf

ROWS, CALLS = 100_000, 111


def main() -> None:
    """Fit, convert, profile twice, show."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    X, _ = make_classification(ROWS, random_state=0)
    km = KMeans(max_iter=10, random_state=0).fit(X)
    onx = onnxperf.to_onnx(km, X[:1])
    X = X.astype(np.float32)  # what the model takes

    runner = onnxperf.load(onx, runtime="ort", profile=True)
    for _ in range(CALLS):
        runner.run({"X": X})
    profile = runner.profile()
    df = profile.to_df(names="ort")
    print(df, "\n")

    gr_dur = df[["dur", "args_op_name"]].groupby("args_op_name").sum().sort_values("dur")
    gr_n = df[["dur", "args_op_name"]].groupby("args_op_name").count().sort_values("dur")
    print(gr_dur.assign(count=gr_n["dur"]), "\n")
    profile.save(folder / "kmeans_operators.png")
    figure = Figure(figsize=(10, 4), layout="constrained")
    profile.plot_nodes(op="Add", min_us=10, ax=figure.add_subplot())
    figure.savefig(folder / "kmeans_add.png")
    print(profile.by_node(op="Add", min_us=10)[["node_name", "calls", "self_us"]], "\n")
    print(profile, "\n")

    with tempfile.TemporaryDirectory() as private:
        so = SessionOptions()
        so.enable_profiling = True
        so.profile_file_prefix = str(Path(private) / "kmeans")
        sess = InferenceSession(onx.SerializeToString(), so, providers=["CPUExecutionProvider"])
        for _ in range(CALLS):
            sess.run(None, {"X": X})
        trace = Path(sess.end_profiling())
        raw = json.loads(trace.read_text(encoding="utf-8"))
        print(json.dumps(raw[:3], indent=1), "\n")
        print(onnxperf.profile(trace).to_df(names="ort"), "\n")
        print(onnxperf.profile(raw).by_operator().to_string(), "\n")


if __name__ == "__main__":
    main()
