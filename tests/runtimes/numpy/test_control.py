"""If, Loop, Scan and SequenceMap run their subgraphs, which read what is around them and change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import parser
from onnx.reference import ReferenceEvaluator

from onnxperf.runtimes.numpy.session import NumpySession

HEAD = '<ir_version: 8, opset_import: ["": 17]> '
YES, NO, COUNT = np.array(True), np.array(False), np.array(3, np.int64)
X = np.array([1, 2, 3, 4], np.float32)


def run(text: str, **feeds: Any) -> list[Any]:
    session = NumpySession(parser.parse_model(HEAD + text))
    assert session.fallbacks == ()
    before = {name: value.copy() for name, value in feeds.items()}
    results = list(session.bind("run", feeds, {})())
    for name, value in feeds.items():
        np.testing.assert_array_equal(value, before[name])
    return results


def reference(text: str, **feeds: Any) -> list[Any]:
    return list(ReferenceEvaluator(parser.parse_model(HEAD + text)).run(None, feeds))


IFS = {
    "a captured value is the output": """g (bool c, float[n] x) => (float[n] y) { z = Neg(x)
        y = If(c) <then_branch = t () => (float[n] z) {}, else_branch = e () => (float[n] w) { w = Abs(z) }> }""",
    "a constant is the output": """g (bool c, float[n] x) => (float[n] y) <float[1] k = {3.0}> {
        y = If(c) <then_branch = t () => (float[1] k) {}, else_branch = e () => (float[n] w) { w = Abs(x) }> }""",
    "each branch captures other values": """g (bool c, float[n] x) => (float[n] y) { a = Neg(x) b = Exp(x)
        y = If(c) <then_branch = t () => (float[n] v) { v = Sub(b, x) },
                   else_branch = e () => (float[n] w) { w = Sub(x, a) }> }""",
    "branches use the same names": """g (bool c, float[n] x) => (float[n] y) {
        y = If(c) <then_branch = t () => (float[n] w) { a = Exp(x) w = Neg(a) },
                   else_branch = e () => (float[n] w) { a = Abs(x) w = Sqrt(a) }> }""",
    "an inner branch captures from both outer graphs": """g (bool c, float[n] x) => (float[n] y) { z = Neg(x)
        y = If(c) <then_branch = t () => (float[n] y1) { a = Exp(x)
                y1 = If(c) <then_branch = t2 () => (float[n] y2) { y2 = Add(z, a) },
                            else_branch = e2 () => (float[n] y3) { y3 = Sub(a, x) }> },
            else_branch = e () => (float[n] w) { w = Abs(x) }> }""",
    "a captured value is read again later": """g (bool c, float[4] x) => (float[4] y, float[4] w) { z = Neg(x)
        y = If(c) <then_branch = t () => (float[4] z) {}, else_branch = e () => (float[4] q) { q = Abs(z) }>
        w = Exp(z) }""",
    "several outputs": """g (bool c, float[n] x) => (float[n] y, float[n] w) {
        y, w = If(c) <then_branch = t () => (float[n] a, float[n] b) { a = Exp(x) b = Neg(x) },
                      else_branch = e () => (float[n] d, float[n] f) { d = Abs(x) f = Sqrt(x) }> }""",
}


@pytest.mark.parametrize("condition", [YES, NO])
@pytest.mark.parametrize("case", IFS)
def test_if_runs_one_branch(case: str, condition: Any) -> None:
    for got, wanted in zip(run(IFS[case], c=condition, x=X), reference(IFS[case], c=condition, x=X), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


DOUBLING = """g (int64 n, bool c, float[1] x) => (float[1] y, float[m, 1] s) <float[1] top = {20.0}> {
    y, s = Loop(INPUTS, x) <body = b (int64 i, bool go, float[1] v) => (bool on, float[1] v2, float[1] v2) {
        v2 = Add(v, v) less = Less(v2, top) on = Squeeze(less) }> }"""


@pytest.mark.parametrize(
    ("inputs", "count", "condition", "wanted"),
    [
        ("n, c", 3, True, [2, 4, 8]),
        ("n, c", 9, True, [2, 4, 8, 16, 32]),
        ("n, c", 3, False, []),
        ("n, ", 2, False, [2, 4]),
        (", c", 0, True, [2, 4, 8, 16, 32]),
        (", ", 0, False, [2, 4, 8, 16, 32]),
        ("n, c", 0, True, []),
    ],
)
def test_loops_end_by_count_or_condition(inputs: str, count: int, condition: bool, wanted: list[float]) -> None:
    last, all_values = run(
        DOUBLING.replace("INPUTS", inputs), n=np.array(count), c=np.array(condition), x=np.ones(1, np.float32)
    )
    assert last.tolist() == [wanted[-1] if wanted else 1]
    assert (all_values.dtype, all_values.shape) == (np.float32, (len(wanted), 1))
    assert all_values.ravel().tolist() == wanted


def test_a_loop_body_may_hide_outer_names_pass_values_through_and_bring_constants() -> None:
    text = """g (int64 n, float[1] x) => (float[1] y, float[m, 1] s, int64[m] k) { a = Neg(x)
        y, s, k = Loop(n, , x) <body = b (int64 i, bool go, float[1] v) => (bool go, float[1] w, float[1] v, int64 i)
            <float[1] two = {2.0}> { d = Mul(v, two) w = Add(d, a) }> }"""
    last, values, counts = run(text, n=COUNT, x=np.array([5], np.float32))
    assert (last.tolist(), values.ravel().tolist(), counts.tolist()) == ([5], [5, 5, 5], [0, 1, 2])


SCAN = """g (float[2] s, float[2, 3] x) => (float[2] y, float[a, b] o) { k = Exp(s)
    y, o = Scan<num_scan_inputs = 1, scan_input_axes = [1], scan_input_directions = [IN],
        scan_output_axes = [AXIS], scan_output_directions = [OUT],
        body = b (float[2] p, float[2] e) => (float[2] r, float[2] q) { r = Add(p, e) q = Mul(r, k) }>(s, x) }"""


@pytest.mark.parametrize("out", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("backward", [0, 1])
def test_scans_follow_axes_and_directions(backward: int, axis: int, out: int) -> None:
    start, x = np.array([1, 2], np.float32), np.arange(6, dtype=np.float32).reshape(2, 3)
    text = SCAN.replace("IN]", f"{backward}]").replace("AXIS", str(axis)).replace("OUT", str(out))
    last, values = run(text, s=start, x=x)
    order = x[:, ::-1] if backward else x
    sums = start[:, None] + np.cumsum(order, axis=1)
    wanted = sums * np.exp(start)[:, None]
    wanted = wanted[:, ::-1] if out else wanted
    np.testing.assert_allclose(last, sums[:, -1])
    np.testing.assert_allclose(values, wanted if axis else wanted.T, rtol=1e-6)


def test_the_first_version_of_scan_has_a_batch_axis() -> None:
    text = """<ir_version: 8, opset_import: ["": 8]>
        g (float[2, 1] s, float[2, 3, 1] x) => (float[2, 1] y, float[2, 3, 1] o) {
        y, o = Scan<num_scan_inputs = 1, body = b (float[1] p, float[1] e) => (float[1] r, float[1] q) {
            r = Add(p, e) q = Identity(r) }>( , s, x) }"""
    start, x = np.array([[1], [2]], np.float32), np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    last, values = NumpySession(parser.parse_model(text)).bind("run", {"s": start, "x": x}, {})()
    wanted = start[:, None] + np.cumsum(x, axis=1)
    np.testing.assert_array_equal(values, wanted)
    np.testing.assert_array_equal(last, wanted[:, -1])


def test_sequence_map_gives_the_same_tensor_and_constants_to_every_element() -> None:
    text = """g (float[n] x, float[1] t) => (float[n] y) <float[1] k = {10.0}> {
        s = SplitToSequence(x)
        m = SequenceMap<body = b (float[1] e, float[1] f) => (float[1] r) { d = Mul(e, f) r = Add(d, k) }>(s, t)
        y = ConcatFromSequence<axis = 0>(m) }"""
    (values,) = run(text, x=X, t=np.array([2], np.float32))
    assert values.tolist() == [12, 14, 16, 18]
