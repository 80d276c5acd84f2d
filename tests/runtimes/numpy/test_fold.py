"""What is constant is computed once, but only where it is small for certain."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from onnx import parser

from onnxperf.runtimes.numpy import lower
from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["" : 18]> '
LIMIT = 1 << 20
MANY = 1 << 22
"""Elements: four times the limit, at least, whatever their type."""

LARGE = {
    "Expand": f"<float[1] A = {{1}}, int64[1] S = {{{MANY}}}> {{ Y = Expand(A, S) }}",
    "Tile": f"<float[1] A = {{1}}, int64[1] S = {{{MANY}}}> {{ Y = Tile(A, S) }}",
    "ConstantOfShape": f"<int64[2] S = {{2, {MANY}}}> {{ Y = ConstantOfShape(S) }}",
    "Range": f"<int64 A = {{0}}, int64 B = {{{MANY}}}, int64 C = {{1}}> {{ Y = Range(A, B, C) }}",
    "Pad": f"<float[1] A = {{1}}, int64[2] S = {{{MANY}, 0}}> {{ Y = Pad(A, S) }}",
    "OneHot": f"<int64[1] A = {{1}}, int64 S = {{{MANY}}}, float[2] V = {{0, 1}}> {{ Y = OneHot(A, S, V) }}",
    "Resize": f"<float[2] A = {{1, 2}}, int64[1] S = {{{MANY}}}> {{ Y = Resize(A, , , S) }}",
    "Gather": (
        "<float[1] A = {1}, int64[1] S = {2000}, int64[1] Z = {0}> "
        "{ B = Expand(A, S)  I = Expand(Z, S)  C = Unsqueeze(B, Z)  Y = Gather(C, I) }"
    ),
    "GatherND": (
        "<float[1] A = {1}, int64[1] S = {2000}, int64[1] Z = {0}, int64[2] T = {2000, 1}> "
        "{ B = Expand(A, S)  I = Expand(Z, T)  C = Unsqueeze(B, Z)  Y = GatherND(C, I) }"
    ),
    "MatMul": (
        "<float[1] A = {1}, int64[2] S = {2000, 1}, int64[2] T = {1, 2000}> "
        "{ B = Expand(A, S)  C = Expand(A, T)  Y = MatMul(B, C) }"
    ),
    "Gemm": (
        "<float[1] A = {1}, int64[2] S = {2000, 1}> { B = Expand(A, S)  Y = Gemm <transB = 1> (B, B) }"
    ),
    "Einsum": (
        '<float[1] A = {1}, int64[1] S = {2000}> { B = Expand(A, S)  Y = Einsum <equation = "i,j->ij"> (B, B) }'
    ),
    "Add": (
        "<float[1] A = {1}, int64[2] S = {2000, 1}, int64[2] T = {1, 2000}> "
        "{ B = Expand(A, S)  C = Expand(A, T)  Y = Add(B, C) }"
    ),
    "Where": (
        "<bool[1] A = {1}, int64[2] S = {2000, 1}, int64[2] T = {1, 2000}, float[1] V = {1}> "
        "{ B = Expand(A, S)  C = Expand(V, T)  Y = Where(B, C, V) }"
    ),
    "Concat": (
        "<float[1] A = {1}, int64[1] S = {100000}> { B = Expand(A, S)  Y = Concat <axis = 0> (B, B, B, B) }"
    ),
    "ConvTranspose": (
        "<float[1, 1, 2] A = {1, 1}, float[1, 1, 1] W = {1}> "
        f"{{ Y = ConvTranspose <strides = [{MANY}]> (A, W) }}"
    ),
    "HannWindow": f"<int64 S = {{{MANY}}}> {{ Y = HannWindow(S) }}",
}  # fmt: skip


@pytest.mark.parametrize("case", LARGE)
def test_what_would_be_large_is_not_computed_at_compile_time(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "FOLD_LIMIT_BYTES", LIMIT)
    model = parser.parse_model(HEAD + "g () => (float[1] Y) " + LARGE[case])  # the declared size is not asked
    tracemalloc.start()
    try:
        session = NumpySession(model)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [step.node.op for step in session.lowered.steps] == [case]
    assert peak < 8 * LIMIT


def test_small_results_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "FOLD_LIMIT_BYTES", 1000)
    lines = "  ".join(f"B{i} = Expand(A, S)" for i in range(5)) + "  Y = Concat <axis = 0> (B0, B1, B2, B3, B4)"
    text = f"g () => (float[n] Y) <float[1] A = {{1}}, int64[1] S = {{60}}> {{ {lines} }}"
    steps = NumpySession(parser.parse_model(HEAD + text)).lowered.steps
    assert [step.node.op for step in steps] == ["Expand", "Concat"]


def test_views_of_constants_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "FOLD_LIMIT_BYTES", 1000)
    lines = "  ".join(f"B{i + 1} = Transpose(B{i})" for i in range(50)) + "  Y = Add(X, B50)"
    text = f"g (float[10, 10] X) => (float[10, 10] Y) <float[10, 10] B0 = {{ {', '.join(['1'] * 100)} }}> {{ {lines} }}"
    assert len(NumpySession(parser.parse_model(HEAD + text)).lowered.steps) == 1


LOOPS = {
    "Loop": (
        "<int64 n = {1000000000000}, bool c = {1}, float[1] s = {0}> { Y = Loop (n, c, s) <body = b"
        " (int64 i, bool p, float[1] v) => (bool q, float[1] w) { q = Identity(p)  w = Neg(v) }> }"
    ),
    "Scan": (
        "<float[1] s = {0}, float[2, 1] x = {1, 2}> { Y, Z = Scan <num_scan_inputs = 1, body = b"
        " (float[1] v, float[1] e) => (float[1] w, float[1] o) { w = Add(v, e)  o = Identity(w) }> (s, x) }"
    ),
    "If": (
        "<bool c = {1}> { Y = If (c) <then_branch = t () => (float[1] P) { P = Loop (n, k, s) <body = b"
        " (int64 i, bool p, float[1] v) => (bool q, float[1] w) { q = Identity(p)  w = Neg(v) }>"
        "  n = Constant <value_int = 1000000000000> ()  k = Constant <value = bool {1}> ()"
        "  s = Constant <value_floats = [1.0]> () },"
        " else_branch = e () => (float[1] R) { R = Constant <value_floats = [1.0]> () }> }"
    ),
}


@pytest.mark.parametrize("case", LOOPS)
def test_a_loop_is_never_run_at_compile_time(case: str) -> None:
    model = parser.parse_model(HEAD + "g () => (float[1] Y) " + LOOPS[case])
    assert [step.node.op for step in NumpySession(model).lowered.steps] == [case]


def test_a_branch_without_anything_to_compute_is_chosen_at_compile_time() -> None:
    text = (
        "g () => (float[1] Y) <bool c = {1}, float[1] s = {2}> { Y = If (c)"
        " <then_branch = t () => (float[1] P) { P = Neg(s) }, else_branch = e () => (float[1] R) { R = Exp(s) }> }"
    )
    session = NumpySession(parser.parse_model(HEAD + text))
    assert session.lowered.steps == []
    assert session.bind("run", {}, {})()[0].tolist() == [-2]


def test_what_is_not_folded_is_computed_in_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "FOLD_LIMIT_BYTES", 0)
    text = "g () => (float[n] Y) <int64[1] S = {3}> { A = ConstantOfShape(S)  Y = Exp(A) }"
    (result,) = NumpySession(parser.parse_model(HEAD + text)).bind("run", {}, {})()
    np.testing.assert_array_equal(result, np.ones(3, np.float32))
