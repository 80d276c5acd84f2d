"""Tensor types as text, and labels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records.trace import TensorType
from onnxperf.wording.labels import label, signature, type_text, types_text


@pytest.mark.parametrize(
    ("dtype", "shape", "text"),
    [
        ("float", (1, 3, 112, 112), "f-1x3x112x112"),
        ("double", (64,), "d-64"),
        ("float16", (2, 2), "f16-2x2"),
        ("bfloat16", (2,), "bf16-2"),
        ("float8e4m3fn", (2,), "f8e4m3fn-2"),
        ("float8e4m3fnuz", (2,), "f8e4m3fnuz-2"),
        ("float8e5m2", (2,), "f8e5m2-2"),
        ("float8e5m2fnuz", (2,), "f8e5m2fnuz-2"),
        ("float8e8m0", (2,), "f8e8m0-2"),
        ("float4e2m1", (2,), "f4-2"),
        *((f"int{bits}", (3,), f"i{bits}-3") for bits in (2, 4, 8, 16, 32, 64)),
        *((f"uint{bits}", (3,), f"u{bits}-3") for bits in (2, 4, 8, 16, 32, 64)),
        ("bool", (1,), "b-1"),
        ("string", (1,), "s-1"),
        ("complex64", (1,), "c64-1"),
        ("complex128", (1,), "c128-1"),
        ("float", (), "f"),  # a scalar
        ("int64", (0,), "i64-0"),  # an empty tensor is not a scalar
        ("float", (4, 0, 2), "f-4x0x2"),
        ("posit8", (2, 1), "posit8-2x1"),
        ("a\x1b[31m\n", (1,), "a\\x1b[31m\\n-1"),
        ("\udcff", (), "\\udcff"),
        ("", (2,), "-2"),
    ],
)
def test_every_type_has_its_short_form(dtype: str, shape: tuple[int, ...], text: str) -> None:
    assert type_text(TensorType(dtype, shape)) == text


def test_a_label_reads_like_a_call() -> None:
    inputs = tuple(TensorType("float", shape) for shape in [(1, 3, 112, 112), (64, 3, 3, 3), (64,)])
    call = signature("Conv", inputs, (TensorType("float", (1, 64, 112, 112)),))
    assert label("=", "CPUExecutionProvider", call, 0) == (
        "[=CPU]Conv(f-1x3x112x112,f-64x3x3x3,f-64)->f-1x64x112x112[0]"
    )
    assert label("-", "", call) == "[-]Conv(f-1x3x112x112,f-64x3x3x3,f-64)->f-1x64x112x112"
    assert signature("Loop", (), ()) == "Loop()->"


@given(st.text(), st.text(), st.text())
def test_whatever_a_trace_says_a_label_is_one_printable_line(dtype: str, op_name: str, provider: str) -> None:
    tensors = (TensorType(dtype, (1, 2)), TensorType("float", ()))
    text = label("+", provider, signature(op_name, tensors, tensors), 3)
    assert text.isprintable()
    assert types_text(tensors) in text
