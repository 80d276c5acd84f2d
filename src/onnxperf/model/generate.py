"""Seeded random values for one input, of any ONNX type."""

from __future__ import annotations

import math
import string
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

import ml_dtypes
import numpy as np
import numpy.typing as npt

from onnxperf.errors import BadFeed, BadOption
from onnxperf.limits import free_memory
from onnxperf.wording.numbers import plain, size

Array = npt.NDArray[Any]
DType = np.dtype[Any]
Shape = tuple[int, ...]
Family = Literal["integer", "float", "bool", "complex", "string"]
Range = tuple[float, float]

DEFAULT_INTEGERS = (0, 9)
COPIES = 3
"""Of an input: one here, one in the file that workers read, and one in the active worker."""
_WORDS = 100
_FAMILIES: dict[str, Family] = {
    "int": "integer",
    "uint": "integer",
    "float": "float",
    "bfloat": "float",
    "bool": "bool",
    "complex": "complex",
}
# these include numpy's own types; declared because ml_dtypes leaves them untyped
_integer_info: Callable[[DType], ml_dtypes.iinfo] = ml_dtypes.iinfo
_float_info: Callable[[DType], Any] = ml_dtypes.finfo


@cache
def numpy_dtype(name: str) -> DType:
    """Numpy's type for the element type of a signature."""
    return np.dtype(object) if name == "string" else np.dtype(name)


@cache
def family(dtype: DType) -> Family:
    """The kind of values that a type holds, by its name: all ml_dtypes types report the kind void."""
    return next((kind for prefix, kind in _FAMILIES.items() if dtype.name.startswith(prefix)), "string")


def limits(dtype: DType) -> Range:
    """Smallest and largest value of an integer or float type."""
    if family(dtype) == "integer":
        integers = _integer_info(dtype)
        return int(integers.min), int(integers.max)
    floats = _float_info(dtype)
    return float(floats.min), float(floats.max)


def check_range(name: str, dtype: DType, bounds: Range) -> None:
    """Reject a range that makes no sense for a type."""
    problem = _problem_of_range(name, dtype, bounds)
    if problem:
        raise BadOption(problem, option="ranges", value=f"{name}={':'.join(map(plain, bounds))}")


def _problem_of_range(name: str, dtype: DType, bounds: Range) -> str:
    low, high = bounds
    kind = family(dtype)
    if kind not in ("integer", "float"):
        return f"input {name!r} has {kind} values; only numbers can have a range"
    if not (math.isfinite(low) and math.isfinite(high)):
        return "both bounds must be finite numbers"
    if low > high:
        return f"the lower bound comes first; did you mean {name}={plain(high)}:{plain(low)}?"
    if kind == "integer" and not (float(low).is_integer() and float(high).is_integer()):
        return f"input {name!r} has type {dtype.name}; use integers"
    least, most = limits(dtype)
    return "" if least <= low and high <= most else f"{dtype.name} ranges from {plain(least)} to {plain(most)}"


def integer_bounds(name: str, dtype: DType, limit: int | None) -> tuple[int, int]:
    """The bounds of an input's integers if no range is given."""
    least, most = (int(end) for end in limits(dtype))
    low, high = (0, limit - 1) if limit else (least, most) if most <= 255 else DEFAULT_INTEGERS
    if is_mask(name, dtype):
        low = high = min(1, high)
    return max(low, least), min(high, most)


def is_mask(name: str, dtype: DType) -> bool:
    """Whether an input is a mask, which in real batches is mostly ones."""
    return "mask" in name.lower() and family(dtype) in ("integer", "bool")


def generate(name: str, dtype: DType, shape: Shape, bounds: Range | None, seed: int) -> Array:
    """An array that depends only on these arguments; `check_memory` comes first."""
    rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if bounds is not None:
        draw = _integers if family(dtype) == "integer" else _uniform
        return draw(rng, dtype, shape, bounds)
    if is_mask(name, dtype):
        return np.ones(shape, dtype)
    return _DRAW[family(dtype)](rng, dtype, shape)


def check_memory(inputs: Mapping[str, tuple[DType, Shape]]) -> None:
    """Reject inputs that do not fit into memory together; free memory is queried once, as there may be thousands."""
    sizes = {name: math.prod(shape) * dtype.itemsize for name, (dtype, shape) in inputs.items()}
    total = sum(sizes.values())
    longest = max((max(shape, default=0) for _, shape in inputs.values()), default=0)
    if fits(total) and longest <= np.iinfo(np.intp).max:
        return
    largest = max(inputs, key=lambda name: (max(inputs[name][1], default=0) > np.iinfo(np.intp).max, sizes[name]))
    shown = f"input {largest!r} of shape {'x'.join(map(str, inputs[largest][1]))} {too_large(sizes[largest])}"
    more = f"; all {len(inputs)} inputs need {size(total)}" if total > sizes[largest] else ""
    raise BadFeed(f"{shown}{more}; set smaller sizes with `dims` or `shapes`")


def fits(size_bytes: int) -> bool:
    """Whether an input of this size can be generated, sent to a worker and held there."""
    return COPIES * size_bytes <= free_memory().free_bytes


def too_large(size_bytes: int) -> str:
    """Why an input of this size is rejected, as a phrase."""
    free = free_memory()
    of = f" (of {size(free.limit_bytes)}: {free.source})" if free.source else ""
    return f"needs {size(size_bytes)} in each of {COPIES} copies; {size(free.free_bytes)} are free{of}"


def _integers(rng: np.random.Generator, dtype: DType, shape: Shape, bounds: Range) -> Array:
    drawn_as = dtype if dtype.kind in "iu" else np.dtype(np.int16)
    low, high = (int(end) for end in bounds)
    return rng.integers(low, high, size=shape, dtype=drawn_as.type, endpoint=True).astype(dtype, copy=False)


def _uniform(rng: np.random.Generator, dtype: DType, shape: Shape, bounds: Range) -> Array:
    low, high = bounds
    part = rng.random(shape)
    # not low + part * (high - low): that difference may overflow
    return np.asarray(np.clip(low * (1 - part) + high * part, low, high)).astype(dtype)


def _normal(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    if dtype in (np.float32, np.float64):
        return np.asarray(rng.standard_normal(shape, dtype=dtype.type))
    values = np.asarray(rng.standard_normal(shape, dtype=np.float32))
    has_no_sign = limits(dtype)[0] > 0
    return (np.abs(values) if has_no_sign else values).astype(dtype)


def _complex(rng: np.random.Generator, dtype: DType, shape: Shape) -> Array:
    return np.asarray(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)


def _bools(rng: np.random.Generator, _: DType, shape: Shape) -> Array:
    return np.asarray(rng.random(shape) < 0.5)


def _strings(rng: np.random.Generator, _: DType, shape: Shape) -> Array:
    letters = np.array(list(string.ascii_lowercase))
    words = np.array(["".join(rng.choice(letters, length)) for length in rng.integers(3, 9, _WORDS)], dtype=object)
    return np.asarray(words[rng.integers(0, _WORDS, shape)], dtype=object)


_DRAW: dict[Family, Callable[[np.random.Generator, DType, Shape], Array]] = {
    "float": _normal,
    "complex": _complex,
    "bool": _bools,
    "string": _strings,
}
