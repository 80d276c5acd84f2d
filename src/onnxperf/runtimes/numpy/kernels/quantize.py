"""Quantized tensors: conversion to and from integers, and their products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from onnxperf.runtimes.numpy.base import Array, Kernel, Node, kernel

_SMALL = frozenset(map(np.dtype, (np.int8, np.uint8, np.int16, np.uint16)))
"""Types that values can be quantized to."""
_EXACT_TERMS = (1 << 24) // (255 * 255)
"""This many products of two bytes sum exactly in float32, which has a fast matrix product."""


def _aligned(value: Array, rank: int, axis: int) -> Array:
    """A scale or zero point per tensor or per element of an axis, ready to broadcast."""
    if value.size == 1:
        return value.reshape(())
    return value.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def _aligner(node: Node, index: int) -> Callable[[Array], Array] | None:
    """A function that reshapes an input of scales or zero points; None if it is not per tensor or per axis."""
    rank, values = node.rank(), node.inputs[index]
    if rank is None or values is None or values.rank is None or values.rank > 1 or node.get("block_size", 0):
        return None
    axis = node.get("axis", 1)
    if values.rank == 0 or values.shape == (1,):
        return lambda value: value.reshape(())
    if not -rank <= axis < rank:
        return None
    return lambda value: _aligned(value, rank, axis)


_FLOATS = frozenset(map(np.dtype, (np.float16, np.float32, np.float64)))


@kernel("QuantizeLinear", since=10)
def make_quantize(node: Node) -> Kernel | None:
    """round(x / scale) + zero point, saturated; half precision would overflow, so it divides in single precision."""
    dtype, scale_shape = node.dtype(), _aligner(node, 1)
    declared = node.get("output_dtype", 0) or onnx.TensorProto.UINT8
    target = node.dtype(2) if node.has(2) else np.dtype(onnx.helper.tensor_dtype_to_np_dtype(declared))
    if dtype not in _FLOATS or node.dtype(1) != dtype or target not in _SMALL or node.get("precision"):
        return None
    zero_shape = _aligner(node, 2) if node.has(2) else None
    if scale_shape is None or target is None or (node.has(2) and zero_shape is None):
        return None
    low, high = np.iinfo(target).min, np.iinfo(target).max
    stash = np.float32 if dtype == np.float16 else dtype

    def quantize(x: Array, scale: Array, zero: Array | None) -> Array:
        y = np.divide(x, scale, dtype=stash)
        if not isinstance(y, np.ndarray):
            y = np.asarray(y)
        np.rint(y, y)
        if zero is not None:
            y += zero
        np.fmax(y, low, y)
        np.minimum(y, high, out=y)
        return y.astype(target)

    scale, zero = node.constant(1), node.constant(2)
    if scale is not None and (zero is not None or not node.has(2)):
        bound_scale = scale_shape(scale)
        bound_zero = None if zero is None or zero_shape is None else zero_shape(zero).astype(stash)
        if bound_zero is not None and not bound_zero.any():
            bound_zero = None
        return Kernel(lambda x: quantize(x, bound_scale, bound_zero), "fresh", uses=(0,))

    def run(x: Array, s: Array, z: Array | None = None) -> Array:
        return quantize(x, scale_shape(s), None if z is None or zero_shape is None else zero_shape(z))

    return Kernel(run, "fresh")


@kernel("DequantizeLinear", since=10)
def make_dequantize(node: Node) -> Kernel | None:
    """(x - zero point) * scale."""
    dtype, result, scale_shape = node.dtype(), node.dtype(1), _aligner(node, 1)
    if dtype not in _SMALL | {np.dtype(np.int32)} or scale_shape is None or result not in (np.float16, np.float32):
        return None
    zero, zero_shape = node.constant(2), _aligner(node, 2) if node.has(2) else None
    declared = node.get("output_dtype", 0)
    if declared and onnx.helper.tensor_dtype_to_np_dtype(declared) != result:
        return None
    if node.has(2) and (zero_shape is None or node.dtype(2) != dtype):
        return None
    float32 = np.float32
    finish: Callable[[Array], Array] = (lambda y: y.astype(np.float16)) if result == np.float16 else (lambda y: y)
    if zero_shape is None or (zero is not None and not zero.any()):
        return Kernel(lambda x, s: finish(np.multiply(x, scale_shape(s), dtype=float32)), "fresh", uses=(0, 1))
    # 32-bit integers exceed the precision of float32, and their differences exceed 32 bits.
    exact = np.int64 if dtype == np.int32 else float32

    def dequantize(x: Array, s: Array, z: Array) -> Array:
        y = np.subtract(x, z, dtype=exact).astype(float32, copy=False)
        y *= scale_shape(s)
        return finish(y)

    if zero is None:
        return Kernel(lambda x, s, z: dequantize(x, s, zero_shape(z)), "fresh")
    bound = zero_shape(zero).astype(exact)
    return Kernel(lambda x, s: dequantize(x, s, bound), "fresh", uses=(0, 1))


@kernel("DynamicQuantizeLinear", since=11)
def make_dynamic_quantize(node: Node) -> Kernel | None:
    """Conversion to bytes, with the scale and zero point that the values need."""
    if node.dtype() != np.float32 or node.output_count != 3:
        return None
    float32, uint8, zero = np.float32, np.uint8, np.float32(0)

    def quantize(x: Array) -> tuple[Any, Any, Any]:
        x = np.asarray(x)
        low, high = np.minimum(np.min(x), zero), np.maximum(np.max(x), zero)
        scale = (float32(1) if low == high else high - low) / float32(255)
        point = np.rint(min(float32(255), max(zero, zero - low / scale)))
        y = np.asarray(np.divide(x, scale))
        np.rint(y, y)
        y += point
        np.fmax(y, zero, y)
        np.minimum(y, float32(255), out=y)
        return y.astype(uint8), np.array(scale), np.array(point.astype(uint8))

    return Kernel(quantize, "fresh")


def _exact_product(a: Array, b: Array) -> Any:
    """The product of integer matrices in float32, as int32; overflowing sums wrap as in int32."""
    y = np.matmul(a[..., :_EXACT_TERMS], b[..., :_EXACT_TERMS, :]).astype(np.int32)
    for start in range(_EXACT_TERMS, a.shape[-1], _EXACT_TERMS):
        stop = start + _EXACT_TERMS
        y += np.matmul(a[..., start:stop], b[..., start:stop, :]).astype(np.int32)
    return y


def _is_matrix_of_bytes(node: Node, index: int) -> bool:
    return node.dtype(index) in (np.int8, np.uint8) and (node.rank(index) or 0) >= 2


def _is_single(node: Node, *indices: int) -> bool:
    """Whether each of these inputs, if given, is a single number."""
    given = [value for i in indices if node.has(i) and (value := node.inputs[i]) is not None]
    return all(value.shape is not None and all(n == 1 for n in value.shape) for value in given)


def _factor(node: Node, index: int, zero_index: int) -> Callable[[Array, Array | None], Array]:
    """A matrix minus its zero point, in float32; bound if both are constants."""

    def shift(x: Array, zero: Array | None) -> Array:
        return x.astype(np.float32) if zero is None else np.subtract(x, zero, dtype=np.float32)

    constant, zero = node.constant(index), node.constant(zero_index)
    if constant is None or (node.has(zero_index) and zero is None):
        return shift
    bound = shift(constant, zero)
    return lambda *_: bound


@kernel("MatMulInteger", since=10)
def make_matmul_integer(node: Node) -> Kernel | None:
    """The product of two byte matrices, as int32."""
    if not (_is_matrix_of_bytes(node, 0) and _is_matrix_of_bytes(node, 1) and _is_single(node, 2)):
        return None
    if node.has(3) and node.rank(3) not in (0, 1):
        return None
    left, right = _factor(node, 0, 2), _factor(node, 1, 3)

    def multiply(a: Array, b: Array, a_zero: Array | None = None, b_zero: Array | None = None) -> Any:
        return _exact_product(left(a, a_zero), right(b, b_zero))

    return Kernel(multiply, "fresh")


@kernel("QLinearMatMul", since=10)
def make_qlinear_matmul(node: Node) -> Kernel | None:
    """The product of two quantized matrices, quantized."""
    target = node.dtype(7)
    if target is None or target not in _SMALL or not _is_single(node, 1, 2, 4, 5, 6, 7):
        return None
    if not (_is_matrix_of_bytes(node, 0) and _is_matrix_of_bytes(node, 3)):
        return None
    left, right = _factor(node, 0, 2), _factor(node, 3, 5)
    low, high = np.iinfo(target).min, np.iinfo(target).max

    def multiply(
        a: Array, a_scale: Array, a_zero: Array, b: Array, b_scale: Array, b_zero: Array, scale: Array, zero: Array
    ) -> Any:
        y = _exact_product(left(a, a_zero), right(b, b_zero)) * (a_scale * b_scale / scale)
        y += zero
        np.rint(y, y)
        np.maximum(y, low, out=y)
        np.minimum(y, high, out=y)
        return y.astype(target)

    return Kernel(multiply, "fresh")
