"""Which ONNX graph computes the einsum bsnh,btnh->bnts the fastest, and why?

Computes it with numpy, with onnxruntime's Einsum and decomposed into simpler operators, searches the fastest graph
for 20x20x20x20, races it against the decomposition as written, profiles both side by side, and draws the time of
every letter order.

usage: python examples/einsum.py [folder for the pictures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.figure import Figure
from onnx import ModelProto

import onnxperf
from onnxperf import ProfileResult

EQUATION = "bsnh,btnh->bnts"
FEW, N = 2, 20
OPTIMIZE = True
SEARCH, TIME, CALLS = 18.0, 4.0, 100

Array = npt.NDArray[np.float32]


def make_inputs(size: int) -> list[Array]:
    """Two random operands."""
    random = np.random.default_rng(0)
    return [random.standard_normal((size,) * 4).astype(np.float32) for _ in range(2)]


def show_values() -> None:
    """Three implementations, the same values."""
    inputs = make_inputs(FEW)
    expected = np.einsum(EQUATION, *inputs)
    by_einsum = onnxperf.einsum(EQUATION, *inputs, runtime="ort", optimize=OPTIMIZE, decompose=False)
    decomposed = onnxperf.einsum(EQUATION, *inputs, runtime="ort", optimize=OPTIMIZE)
    for name, values in {"numpy": expected, "onnxruntime's Einsum": by_einsum, "decomposed": decomposed}.items():
        print(f"{name}:\n{values}\n")
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    print(onnxperf.cached_einsums()[["canonical", "graph", "best_equation"]].to_string(), "\n")


def profiled(title: str, model: ModelProto, inputs: dict[str, Array], picture: Path) -> ProfileResult:
    """Profile a graph; print the first events and draw the time and the number of calls of every operator."""
    runner = onnxperf.load(model, runtime="ort", profile=True)
    for _ in range(CALLS):
        runner.run(inputs)
    profile = runner.profile()
    df = profile.to_df(names="ort")
    print(f"{title}:\n{df.head()}\n")

    gr_dur = df[["dur", "args_op_name"]].groupby("args_op_name").sum().sort_values("dur")
    gr_n = df[["dur", "args_op_name"]].groupby("args_op_name").count().sort_values("dur")
    gr_n = gr_n.loc[gr_dur.index, :]
    print(gr_dur.assign(count=gr_n["dur"]), "\n")
    figure = Figure(figsize=(8, 4), layout="constrained")
    ax = figure.subplots(1, 2)
    gr_dur.plot.barh(ax=ax[0], title=f"duration - {title}", legend=False)
    gr_n.plot.barh(ax=ax[1], title="n occurrences", legend=False)
    figure.savefig(picture)
    return profile


def show_kernels(df: pd.DataFrame) -> None:
    """The time of every kernel, then that of the transposes that are left."""
    gr_dur = df[["dur", "args_op_name", "name"]].groupby(["args_op_name", "name"], as_index=False).sum()
    gr_dur = gr_dur.sort_values("dur")
    print(gr_dur, "\n")
    print(gr_dur[gr_dur.args_op_name == "Transpose"], "\n")


def main() -> None:
    """Compute, search, race, profile, show."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    show_values()

    plan = onnxperf.optimize_einsum(EQUATION, [(N,) * 4] * 2, time=SEARCH)
    print(plan, "\n")
    print(f"{plan.equation} optimised into {plan.best_equation}\n")

    inputs = {f"X{number}": array for number, array in enumerate(make_inputs(N))}
    models = {"not optimised": plan.unoptimized_onnx, "optimised": plan.onnx}
    for name, model in models.items():
        model.graph.name = name  # what tables call it
    print(onnxperf.bench(models, feeds=inputs, time=TIME), "\n")

    equations = {"not optimised": plan.equation, "optimised": plan.best_equation}
    before, after = (
        profiled(f"{name} - {equations[name]}", model, inputs, folder / f"einsum_{name.replace(' ', '_')}.png")
        for name, model in models.items()
    )
    compared = onnxperf.diff(before, after)
    compared.plot_operators()[0, 0].figure.savefig(folder / "einsum_side_by_side.png")
    print(compared, "\n")
    show_kernels(after.to_df(names="ort"))

    print(plan.timings.to_string(max_rows=20, max_colwidth=60, show_dimensions=True), "\n")
    plan.save(folder / "einsum_orders.png")


if __name__ == "__main__":
    main()
