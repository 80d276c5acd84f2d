"""Operations and bytes of one execution, by operator; and that counting never fails."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.trace.work import _COUNTERS, _NOTHING_MOVED, ELEMENT_BYTES, constant_bytes_of, work_of
from onnxperf.records.headroom import LEFT_OUT, NodeSettings
from onnxperf.records.trace import TensorType

Shapes = list[tuple[int, ...]]


def types(shapes: Shapes, dtype: str = "float") -> tuple[TensorType, ...]:
    return tuple(TensorType(dtype, shape) for shape in shapes)


def settings(*constants: TensorType | None, **attributes: Any) -> NodeSettings:
    return NodeSettings(
        name="n",
        constants=constants,
        numbers={name: value for name, value in attributes.items() if isinstance(value, tuple)},
        texts={name: value for name, value in attributes.items() if isinstance(value, str)},
    )


X = (1, 16, 8, 8)
"""1024 elements."""
CASES: list[tuple[str, Shapes, Shapes, dict[str, Any], float | None]] = [
    ("Conv", [X, (32, 16, 3, 3)], [(1, 32, 8, 8)], {}, 2 * 32 * 64 * 16 * 9),
    ("Conv", [X, (16, 1, 3, 3)], [X], {"group": (16,)}, 2 * 1024 * 9),
    ("FusedConv", [X, (32, 16, 1, 1), (32,)], [(1, 32, 8, 8)], {}, 2 * 32 * 64 * 16),
    ("Conv", [X, (32,)], [(1, 32, 8, 8)], {}, None),  # only the bias: the weights were packed, and are not known
    ("QLinearConv", [X, (), (), (32, 16, 3, 3)], [(1, 32, 8, 8)], {}, 2 * 32 * 64 * 16 * 9),
    ("ConvTranspose", [X, (16, 8, 2, 2)], [(1, 8, 16, 16)], {}, 2 * 1024 * 8 * 4),
    ("MatMul", [(4, 6), (6, 5)], [(4, 5)], {}, 2 * 4 * 5 * 6),
    ("MatMul", [(7, 4, 6), (6, 5)], [(7, 4, 5)], {}, 2 * 7 * 4 * 5 * 6),
    ("MatMul", [(6,), (6,)], [()], {}, 2 * 6),
    ("MatMul", [(), ()], [()], {}, None),
    ("FusedMatMul", [(6, 4), (6, 5)], [(4, 5)], {"transA": (1,)}, 2 * 4 * 5 * 6),
    ("Gemm", [(4, 6), (5, 6), (5,)], [(4, 5)], {"transB": (1,)}, 2 * 4 * 5 * 6),
    ("Gemm", [(6, 4), (6, 5)], [(4, 5)], {"transA": (1,)}, 2 * 4 * 5 * 6),
    ("MatMulInteger", [(4, 6), (6, 5)], [(4, 5)], {}, 2 * 4 * 5 * 6),
    ("MatMulNBits", [(4, 64), (5, 2, 16)], [(4, 5)], {"K": (64,)}, 2 * 4 * 5 * 64),
    ("Attention", [(2, 10, 8), (8, 24), (24,)], [(2, 10, 8)], {}, 2 * 20 * 8 * 24 + 4 * 160 * 10),
    ("MultiHeadAttention", [(2, 10, 8), (2, 7, 8), (2, 7, 8)], [(2, 10, 8)], {}, 2 * 7 * 320),
    ("Attention", [(2, 4, 10, 8), (2, 4, 7, 8), (2, 4, 7, 8)], [(2, 4, 10, 8)], {}, 2 * 7 * 1280),
    ("Attention", [(2, 4, 9, 8)] * 3, [(2, 4, 9, 8)], {"is_causal": (1,)}, 9 * 1152),
    ("MaxPool", [X], [(1, 16, 4, 4)], {"kernel_shape": (2, 2)}, 256 * 4),
    ("GlobalAveragePool", [X], [(1, 16, 1, 1)], {}, 1024),
    ("ReduceMean", [X], [(1, 16)], {}, 1024),
    ("ReduceL2", [X], [(1, 16)], {}, 2048),
    ("Softmax", [X], [X], {}, 16 * 1024),
    ("LayerNormalization", [X, (8,), (8,)], [X], {}, 8 * 1024),
    ("BatchNormalization", [X, (16,)], [X], {}, 2 * 1024),
    ("Add", [X, (1,)], [X], {}, 1024),
    ("Sum", [X, X, X], [X], {}, 2 * 1024),
    ("Relu", [X], [X], {}, 1024),
    ("Gelu", [X], [X], {}, 20 * 1024),
    ("LSTM", [(5, 2, 3), (1, 16, 3), (1, 16, 4)], [(5, 1, 2, 4)], {}, 2 * 10 * 16 * 7),
    ("Einsum", [(4, 6), (6, 5)], [(4, 5)], {"equation": "ij, jk -> ik"}, 2 * 4 * 5 * 6),
    ("Einsum", [(4, 6)], [(6, 4)], {"equation": "ij->ji"}, 24),
    ("Einsum", [(4, 6), (6, 5), (5, 2)], [(4, 2)], {"equation": "ij,jk,kl->il"}, None),
    ("Einsum", [(4, 6), (6, 5)], [(4, 5)], {}, None),
    ("Resize", [X], [(1, 16, 16, 16)], {"mode": "nearest"}, 0),
    ("Resize", [X], [(1, 16, 16, 16)], {"mode": "linear"}, 2 * 4 * 4096),
    ("LinearRegressor", [(100, 10)], [(100, 1)], {"coefficients": (10,)}, 2 * 1000),
    ("Transpose", [X], [X], {}, 0),
    ("Reshape", [X, (2,)], [(16, 64)], {}, 0),
    ("TreeEnsembleRegressor", [(100, 10)], [(100, 1)], {}, None),
    ("SomethingNew", [X], [X], {}, None),
    ("Relu", [], [], {}, None),
]


@pytest.mark.parametrize(("op_name", "inputs", "outputs", "attributes", "flop"), CASES)
def test_operations_are_those_of_the_operator(
    op_name: str, inputs: Shapes, outputs: Shapes, attributes: dict[str, Any], flop: float | None
) -> None:
    found = work_of(op_name, types(inputs), types(outputs), settings(*[None] * len(inputs), **attributes))
    assert found.flop == flop


@pytest.mark.parametrize(
    ("op_name", "inputs", "outputs", "moved"),
    [
        ("Add", [X, X], [X], 3 * 4096),
        ("Reshape", [X, (2,)], [(16, 64)], 0),
        ("Loop", [X], [X], 0),
        ("Gather", [(1000, 64), (3,)], [(3, 64)], 2 * 4 * 3 * 64 + 12),
        ("Slice", [(1000, 64)], [(3, 64)], 2 * 4 * 3 * 64),
        ("Concat", [(3, 4), (5, 4)], [(8, 4)], 2 * 4 * 32),
        ("SomethingNew", [X], [X], 2 * 4096),
    ],
)
def test_bytes_are_those_that_are_read_and_written(op_name: str, inputs: Shapes, outputs: Shapes, moved: float) -> None:
    assert work_of(op_name, types(inputs), types(outputs)).moved_bytes == moved


WEIGHTS, BIAS = TensorType("float", (32, 16, 3, 3)), TensorType("float", (32,))


@pytest.mark.parametrize(
    ("constants", "traced"),
    [
        ((None, WEIGHTS, BIAS), [X, (32, 16, 3, 3), (32,)]),
        ((None, WEIGHTS, BIAS), [X, (32,)]),  # weights were packed
        ((None, WEIGHTS, BIAS), [X]),  # both were
        ((None, WEIGHTS, LEFT_OUT, BIAS), [X, (32,)]),
    ],
)
def test_weights_that_a_kernel_packed_count_as_if_they_were_inputs(
    constants: tuple[TensorType | None, ...], traced: Shapes
) -> None:
    found = work_of("FusedConv", types(traced), types([(1, 32, 8, 8)]), settings(*constants))
    assert found.flop == 2 * 32 * 64 * 16 * 9
    assert found.constant_bytes == 4 * (32 * 16 * 9 + 32)
    assert found.streamed_bytes == 4 * (1024 + 32 * 64)


@pytest.mark.parametrize(
    ("op_name", "dtype", "arithmetic"),
    [("MatMul", "float", "float"), ("MatMul", "double", "double"), ("QLinearConv", "uint8", "int8")],
)
def test_the_arithmetic_is_that_of_the_element_type(op_name: str, dtype: str, arithmetic: str) -> None:
    assert work_of(op_name, types([(4, 4), (4, 4)], dtype), types([(4, 4)], dtype)).arithmetic == arithmetic


def test_tables_that_are_looked_up_are_no_weights_that_every_inference_reads() -> None:
    table = TensorType("float", (1000, 10))
    nodes = [NodeSettings(name=op, op_name=op, constants=(table, None)) for op in ("Gather", "MatMul")]
    assert constant_bytes_of(nodes) == 40_000


shapes = st.lists(st.integers(-2, 10**6), max_size=6).map(tuple)
tensors = st.builds(TensorType, st.sampled_from([*ELEMENT_BYTES, "string", ""]), shapes)
numbers = st.dictionaries(
    st.sampled_from(["K", "kernel_shape", "transA", "coefficients", "is_causal"]),
    st.lists(st.integers(-3, 10**9), max_size=4).map(tuple),
)


@given(
    op_name=st.sampled_from([*_COUNTERS, *_NOTHING_MOVED, "Unknown"]),
    inputs=st.lists(tensors, max_size=5).map(tuple),
    outputs=st.lists(tensors, max_size=3).map(tuple),
    constants=st.lists(st.none() | tensors | st.just(LEFT_OUT), max_size=6).map(tuple),
    numbers=numbers,
    equation=st.text("ijk,->. ", max_size=12),
    known=st.booleans(),
)
def test_counting_never_fails_whatever_the_shapes_are(
    op_name: str, inputs: Any, outputs: Any, constants: Any, numbers: Any, equation: str, known: bool
) -> None:
    about = NodeSettings(name="n", constants=constants, numbers=numbers, texts={"equation": equation, "mode": "cubic"})
    found = work_of(op_name, inputs, outputs, about if known else None)
    assert found.flop is None or (math.isfinite(found.flop) and found.flop >= 0)
    assert found.streamed_bytes >= 0
    assert found.constant_bytes >= 0
