"""Whole inputs of every kind, from which damaged and hostile ones are made."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper

from onnxperf.measure import messages as ms
from onnxperf.measure import packing
from onnxperf.records.options import Recording
from onnxperf.records.race import Block
from onnxperf.store import whole_run, write_bundle
from onnxperf.store.blobs import pack_blocks, pack_times
from tests.analyze.made_traces import Ran, events_of
from tests.measure.trace.traces import node, session, written
from tests.render import examples

_HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
_GRAPHS = {
    "linear": """linear (float[batch, 4] X) => (float[batch, 2] Y)
        <float[4, 2] W = {1,2,3,4,5,6,7,8}, float[2] B = {1,2}> { M = MatMul(X, W)  Y = Add(M, B) }""",
    "if": """chosen (bool[1] C, float[N] X) => (float[N] Y) {
        Y = If(C) <then_branch = yes () => (float[N] A) { A = Neg(X) },
                   else_branch = no () => (float[N] B) { B = Abs(X) }> }""",
    "loop": """looped (float[2] X) => (float[2] Y) <int64 trips = {3}, bool go = {1}> {
        Y = Loop(trips, go, X) <body = step (int64 i, bool c, float[2] s) => (bool d, float[2] t)
            { d = Identity(c)  t = Add(s, s) }> }""",
    "shapes": """shapes (float[a, b] X) => (float[c, d] Y) <int64[1] two = {2}> {
        S = Shape(X)  T = Mul(S, two)  R = ReduceProd<keepdims = 1>(T)  E = ConstantOfShape(T)  F = Reshape(E, R)
        Y = Reshape(F, T) }""",
    "convolution": """conv (float[1, 3, 8, 8] X, float[4, 3, 3, 3] W) => (float[1, 4, 3, 3] Y) {
        C = Conv <pads = [0, 0, 0, 0], strides = [1, 1]>(X, W)  R = Relu(C)
        Y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]>(R) }""",
    "einsum": 'einsum (float[i, j] A, float[j, k] B) => (float[i, k] C) { C = Einsum<equation = "ij,jk->ik">(A, B) }',
    "texts": "texts (string[N] X) => (string[N] Y) { Y = Identity(X) }",
    "quantised": """quantised (float[4] X) => (float[4] Y) <float scale = {0.5}, uint8 zero = {128}> {
        Q = QuantizeLinear(X, scale, zero)  Y = DequantizeLinear(Q, scale, zero) }""",
    "many": "many (float[N, 8] X) => (float[N, 8] Y) {"
    + "".join(f"T{n} = {op}({f'T{n - 1}' if n else 'X'}) " for n, op in enumerate(["Relu", "Exp", "Neg", "Tanh"] * 5))
    + "Y = Softmax(T19) }",
}
_FUNCTIONS = """<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
caller (float[N] X) => (float[N] Y) { M = local.twice(X)  Y = local.once(M) }
<domain: "local", opset_import: ["" : 17]> once (x) => (y) { y = Neg(x) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> twice (x) => (y) { t = local.once(x)  y = local.once(t) }"""
_TREES = """<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
scaled (float[N, 3] X) => (float[N, 3] Y) {
  Y = ai.onnx.ml.Scaler <offset = [0.5, 0.5, 0.5], scale = [2.0, 2.0, 2.0]>(X) }"""


@cache
def models() -> dict[str, bytes]:
    """Small models of every structure: bodies, functions, computed shapes, texts, sparse and quantised values."""
    texts = {name: _HEAD + graph for name, graph in _GRAPHS.items()} | {"functions": _FUNCTIONS, "scaler": _TREES}
    protos = {name: onnx.parser.parse_model(text) for name, text in texts.items()} | {"sparse": _sparse()}
    return {name: bytes(proto.SerializeToString(deterministic=True)) for name, proto in protos.items()}


def _sparse() -> onnx.ModelProto:
    values = numpy_helper.from_array(np.ones(2, np.float32), "W")
    indices = numpy_helper.from_array(np.array([1, 3], np.int64), "W_indices")
    graph = helper.make_graph(
        [helper.make_node("Add", ["X", "W"], ["Y"])],
        "sparse",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [4])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, [4])],
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [4])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@cache
def traces() -> dict[str, bytes]:
    """Traces of today's version, of older ones and of other tools."""
    body = [Ran("add"), Ran("if", "If", bodies=[[Ran("mul", "Mul")]])]
    nested = events_of([[Ran("relu", "Relu"), Ran("loop", "Loop", bodies=[body, [Ran("add")]])]] * 3)
    kernel = node(cat="Kernel", name="gemm<float>", args={"op_name": "MatMul", "parent_name": "n0_kernel_time"})
    flat = [*(node(f"n{n}", ts=20 * n) for n in range(20)), kernel, session(ts=0, dur=700)]
    two_threads = [each | {"tid": n % 2} for n, each in enumerate(nested)]
    return {
        "nested": json.dumps(nested).encode(),
        "flat": written(flat),
        "not escaped": written([node('a"b\\', ts=n) for n in range(4)], escape=False),
        "threads": json.dumps({"traceEvents": two_threads, "displayTimeUnit": "ms"}, indent=1).encode(),
    }


PLANS = {
    "plain": """models = ["m.onnx"]
runtime = "ort,numpy"
call = ["run", "run-c"]

[dims]
batch = [1, 2, 4]

[options]
time = 0.5
threads = 1
timeout = 10
memory_limit = "512MB"
ranges = {X = [0, 1]}
options = {"session.intra_op.allow_spinning" = "0"}
""",
    "several": """[[models]]
path = "m.onnx"
dims = {batch = 3}

[[models]]
path = "./m.onnx"
against = ["mine=source.py:make", "source.py:make"]

[options]
rtol = 1e-3
shapes = {X = [8, 4]}
match = {Y = 0}
""",
}


@cache
def inputs() -> dict[str, bytes]:
    """Files of arrays, by names that end as theirs do."""
    array = np.arange(8, dtype=np.float32).reshape(2, 4)
    npy, fortran, archive, texts = (io.BytesIO() for _ in range(4))
    np.save(npy, array)
    np.save(fortran, np.asfortranarray(array.astype(">f8")))
    np.savez(archive, X=array)
    np.savez_compressed(texts, X=np.array(["a", "b"]))
    return {
        "plain.npy": npy.getvalue(),
        "fortran.npy": fortran.getvalue(),
        "one.npz": archive.getvalue(),
        "compressed.npz": texts.getvalue(),
        "tensor.pb": bytes(numpy_helper.from_array(array, "X").SerializeToString()),
        "texts.pb": bytes(numpy_helper.from_array(np.array(["a", "b"], object), "X").SerializeToString()),
    }


SETTINGS = (
    '{"version": 1, "settings": {"threads": "1", "arena": "off", "session.dynamic_block_base": "4"}, "call": "run-c"}',
    '{"version": 1, "model": "m", "dims": {"n": 8}, "settings": {"dim.n": "8", "disabled_optimizers": "A+B"}}',
    '{"settings": {"opt_level": "basic", "execution_mode": "parallel", "mem_pattern": "off"}, "runtime": "numpy"}',
)
"""Files that `onnxperf tune` could have saved."""
EQUATIONS = ("ij,jk->ik", "bsnh,btnh->bnts", "...i,i...->...", "ii->i", "a b,b c", "->", "i...j->j...i", "abc,,d->dcba")


@cache
def messages() -> dict[str, bytes]:
    """Requests and replies as they travel between a parent and its workers."""
    feeds = packing.pack_feeds({"X": np.ones((2, 4), np.float32), "T": np.array(["a", "b"], object)})
    subject = ms.ModelSubject(name="ort run", call="run")
    spec = ms.WorkerSpec(subjects=(subject,), threads=1, feeds=feeds, model_path="m.onnx", recording=Recording())
    value = packing.pack_value([np.ones(3), {1: np.zeros(2)}, None])
    each: list[ms.Request[Any] | ms.Reply] = [
        ms.Load(spec),
        ms.TimeBlock(0, 3, 10),
        ms.Failed("failed", "no"),
        ms.Computed(["Y"], value),
        ms.TimedBlock(1, 2, [3], 4.5),
    ]
    return {f"{type(message).__name__}": ms.encode((number, message)) for number, message in enumerate(each)}


@cache
def timings() -> dict[str, bytes]:
    """Raw timings as a store keeps them."""
    block = Block(round=0, position=0, launch=0, set_up=0, calls=1, start_ns=2, duration_ns=3)
    return {"blocks": pack_blocks([block] * 5), "times": pack_times([1, 2, 3])}


@cache
def bundles() -> dict[str, bytes]:
    """A bundle as a file, and the lines of a run in it."""
    file = io.BytesIO()
    write_bundle(file, [whole_run(examples.bench(), "bench")])
    with zipfile.ZipFile(file) as archive:
        lines = archive.read("runs/000001.jsonl").splitlines()
    return {"file": file.getvalue(), "lines": b"[" + b",".join(lines) + b"]"}
