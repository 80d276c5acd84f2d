"""Where does the time of a small CNN go, and what did onnxruntime's optimiser change?

Builds a network with a residual and an attention-like branch, profiles it as it is and optimised, merges both
profiles node by node, and writes the tables as Excel files and the charts as pictures.

usage: python examples/profile_model.py [folder for the files]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import onnxperf

REPEAT = 6
CHANNELS, SIZE = 64, 112


def make_model(size: int) -> onnx.ModelProto:
    """Conv, pooling, two residual convolutions with batch norms, and a branch that weighs the channels."""
    random = np.random.default_rng(0)
    weights: list[onnx.TensorProto] = []

    def weight(name: str, *shape: int) -> str:
        values = random.standard_normal(shape) / math.sqrt(math.prod(shape[1:]))
        weights.append(numpy_helper.from_array(np.abs(values).astype(np.float32), name))
        return name

    def conv(inputs: str, output: str, channels: int) -> onnx.NodeProto:
        names = [inputs, weight(f"{output}_w", CHANNELS, channels, 3, 3), weight(f"{output}_b", CHANNELS)]
        return helper.make_node("Conv", names, [output], pads=[1, 1, 1, 1])

    def norm(inputs: str, output: str) -> onnx.NodeProto:
        names = [weight(f"{output}_{part}", CHANNELS) for part in ("scale", "bias", "mean", "var")]
        return helper.make_node("BatchNormalization", [inputs, *names], [output])

    nodes = [
        conv("input", "c0", 3),
        helper.make_node("Relu", ["c0"], ["r0"]),
        helper.make_node("MaxPool", ["r0"], ["p0"], kernel_shape=[2, 2], strides=[2, 2]),
        conv("p0", "c1", CHANNELS),
        norm("c1", "n1"),
        helper.make_node("Relu", ["n1"], ["r1"]),
        conv("r1", "c2", CHANNELS),
        norm("c2", "n2"),
        helper.make_node("Add", ["n2", "p0"], ["sum"]),
        helper.make_node("Relu", ["sum"], ["r2"]),
        helper.make_node("GlobalAveragePool", ["r2"], ["pooled"]),
        helper.make_node("Conv", ["pooled", weight("gate_w", CHANNELS, CHANNELS, 1, 1)], ["gate"]),
        helper.make_node("Sigmoid", ["gate"], ["attention"]),
        helper.make_node("Mul", ["r2", "attention"], ["output"]),
    ]
    for index, node in enumerate(nodes):
        node.name = f"n{index}"
    image = helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, size, size])
    result = helper.make_tensor_value_info("output", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "small", [image], [result], initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def main() -> None:
    """Profile, compare, show."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    model = make_model(SIZE)
    feeds = {"input": np.random.default_rng(1).random((1, 3, SIZE, SIZE)).astype(np.float32)}

    print(onnxperf.optimize(model, folder / "optimized.onnx"), "\n")

    base = onnxperf.profile(model, feeds, calls=REPEAT, opt_level="disable")
    print(base.to_df(names="ort"), "\n")
    base.to_df(names="ort").map(str).to_excel(folder / "prof_base.xlsx", index=False)
    optimised = onnxperf.profile(model, feeds, calls=REPEAT)
    print(optimised.to_df(names="ort"), "\n")
    print(optimised, "\n")

    compared = onnxperf.diff(model, opt_level=["disable", "all"], feeds=feeds, calls=REPEAT)
    compared.plot_operators().figure.savefig(folder / "plot_profiling.png")
    print(compared.merged(per_iteration=False).to_string(max_colwidth=40), "\n")
    compared.save(folder / "plot_profiling_merged.xlsx")
    print(compared.by_label(min_share=0.01).to_string(), "\n")
    compared.save(folder / "plot_profiling_side_by_side.png")
    print(compared, "\n")

    print(optimised.by_source()[["kind", "sources", "executed", "self_us", "share"]].to_string(), "\n")

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        on_gpu = onnxperf.diff(model, opt_level=["disable", "all"], feeds=feeds, calls=REPEAT, provider="cuda")
        on_gpu.plot_operators().figure.savefig(folder / "plot_profiling_cuda.png")
        print(on_gpu)
    else:
        print(f"CUDA is not available in {onnxruntime.get_available_providers()}")


if __name__ == "__main__":
    main()
