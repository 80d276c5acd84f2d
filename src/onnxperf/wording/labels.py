"""Types and shapes of tensors as short text, the label of a node in a diff made of them, and settings by name."""

from __future__ import annotations

Tensor = tuple[str, tuple[int, ...]]
"""Element type and shape."""
Tensors = tuple[Tensor, ...]

_SHORT = {
    "float": "f",
    "double": "d",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8e4m3fn": "f8e4m3fn",
    "float8e4m3fnuz": "f8e4m3fnuz",
    "float8e5m2": "f8e5m2",
    "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e8m0": "f8e8m0",
    "float4e2m1": "f4",
    "int2": "i2",
    "int4": "i4",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint2": "u2",
    "uint4": "u4",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "b",
    "string": "s",
    "complex64": "c64",
    "complex128": "c128",
}
"""Every element type that onnxruntime writes into a trace."""

ARENA_SETTINGS = {
    "off": "arena off",
    "same-as-requested": "extend strategy kSameAsRequested",
    "shrinkage": "shrinkage after each call",
}
"""Settings of onnxruntime's arena, as its documentation names them."""
KEEPERS = {
    "ort": "onnxruntime's arena",
    "numpy": "the buffer pools of BLAS and the workspace of the numpy runtime",
    "reference": "the buffer pools of BLAS",
}
"""What keeps memory between the calls of a runtime."""


def type_text(tensor: Tensor) -> str:
    """A tensor as `f-1x3x112x112`; a scalar is its type alone, and an unknown type stays as it is."""
    dtype, shape = tensor
    short = _SHORT.get(dtype) or _printable(dtype)
    return f"{short}-{'x'.join(map(str, shape))}" if shape else short


def types_text(tensors: Tensors) -> str:
    """Several tensors, with commas between them."""
    return ",".join(map(type_text, tensors))


def size_text(tensor: Tensor) -> str:
    """A tensor as people read it, `1×3×112×112`; its type stands before it unless it is float."""
    dtype, shape = tensor
    short = "" if dtype == "float" else _SHORT.get(dtype) or _printable(dtype)
    return " ".join(filter(None, [short, "×".join(map(str, shape))])) or "scalar"


def sizes_texts(tensors: Tensors) -> str:
    """Several tensors as people read them."""
    return ", ".join(map(size_text, tensors))


def signature(op_name: str, inputs: Tensors, outputs: Tensors) -> str:
    """What a node computes from what: `Conv(f-1x3x8x8,f-4x3x3x3)->f-1x4x8x8`."""
    return f"{_printable(op_name)}({types_text(inputs)})->{types_text(outputs)}"


def label(side: str, provider: str, call: str, idx: int | None = None) -> str:
    """The label of a row, its `call` being what `signature` gives; without a number, that of all rows like it."""
    number = "" if idx is None else f"[{idx}]"
    return f"[{side}{_printable(provider[:3])}]{call}{number}"


def _printable(text: str) -> str:
    """Words of others without characters that steer a terminal, break a line or cannot be encoded."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
