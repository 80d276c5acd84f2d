"""Where the numpy runtime and onnxruntime differ, and which of them computes what ONNX defines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from benchmarks.operator_cases.base import Array, Case

Right = Literal["numpy", "onnxruntime", "not defined"]


class Known(NamedTuple):
    """A difference that is understood."""

    operators: str
    when: Callable[[Case], bool]
    right: Right
    why: str


_POOLS = "AveragePool LpPool MaxPool"
_REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)
_LARGEST = (2**31 - 1, 2**63 - 1)


def _is_same(case: Case) -> bool:
    return str(case.attributes.get("auto_pad", "")).startswith("SAME")


def _skips_elements(case: Case) -> bool:
    sides = zip(case.attributes["kernel_shape"], case.attributes["strides"], strict=True)
    return any(stride > kernel for kernel, stride in sides)


def _ends_at_the_largest_number(case: Case) -> bool:
    ends, steps = _input(case, 2).tolist(), _input(case, 4).tolist()
    return any(end in _LARGEST and step < 0 for end, step in zip(ends, steps, strict=True))


def _input(case: Case, index: int = 0) -> Array:
    value = case.inputs[index]
    assert value is not None
    return value


KNOWN: tuple[Known, ...] = (
    Known(
        _POOLS,
        lambda case: _is_same(case) and max(case.attributes.get("dilations", [1])) > 1,
        "numpy",
        "with `auto_pad` SAME, the result has ceil(size / stride) elements; onnxruntime ignores dilations.",
    ),
    Known(
        _POOLS,
        lambda case: case.attributes.get("auto_pad") == "VALID" and bool(case.attributes.get("ceil_mode")),
        "numpy",
        "with `auto_pad` VALID, `ceil_mode` changes nothing by ONNX's formula; onnxruntime adds a window.",
    ),
    Known(
        _POOLS,
        lambda case: _is_same(case) and _skips_elements(case),
        "not defined",
        "with `auto_pad` SAME and strides beyond the window, ONNX's formula gives a negative padding: 0 here, a start "
        "within the tensor in onnxruntime.",
    ),
    Known(
        _REDUCTIONS,
        lambda case: _input(case).size == 0,
        "not defined",
        "of nothing: the mean has no defined value (NaN here, 0 there); onnxruntime also keeps an empty axis that is "
        "counted from the end.",
    ),
    Known(
        "ReduceLogSumExp",
        lambda case: _input(case).dtype.kind == "i",
        "not defined",
        "of whole numbers: rounded once here, after every step in onnxruntime.",
    ),
    Known(
        "NonZero",
        lambda case: _input(case).ndim == 0,
        "numpy",
        "of a number without axes: ONNX requires the shape (0, N); onnxruntime returns (1, N).",
    ),
    Known(
        "MatMul",
        lambda case: 0 in (_input(case).shape[-1:] + _input(case, 1).shape[-2:]),
        "numpy",
        "over no elements: zeros here, memory that was never written in onnxruntime.",
    ),
    Known(
        "Slice",
        _ends_at_the_largest_number,
        "numpy",
        "backwards to the largest number: nothing by ONNX's rule of clamping; onnxruntime goes to the first element.",
    ),
    Known(
        "Resize",
        lambda case: case.attributes.get("coordinate_transformation_mode") == "align_corners" and len(case.inputs) == 3,
        "numpy",
        "with align_corners and scales: the size before it is rounded, as in ONNX's own test data; onnxruntime takes "
        "the rounded one.",
    ),
    Known(
        "DynamicQuantizeLinear",
        lambda case: not _input(case).any(),
        "not defined",
        "of zeros: ONNX's formula gives the scale 0; it is 1 / 255 here, 1 in onnxruntime.",
    ),
    Known(
        "LSTM",
        lambda case: "clip" in case.attributes,
        "numpy",
        "`clip` bounds the input of every activation function; onnxruntime leaves out the last one, of the cell state.",
    ),
    Known(
        "AffineGrid",
        lambda case: bool(case.attributes["align_corners"]) and 1 in _input(case, 1)[2:],
        "not defined",
        "with align_corners and an axis of one pixel, whose corners are the same: its first corner here (in "
        "onnx.reference), its middle in onnxruntime.",
    ),
    Known(
        "GridSample",
        lambda case: case.attributes["mode"] == "cubic" and case.attributes["padding_mode"] == "border",
        "not defined",
        "cubic beyond the border: locations are moved to it here (in onnx.reference), their neighbours in onnxruntime.",
    ),
    Known(
        "GridSample",
        lambda case: case.attributes["padding_mode"] == "reflection" and 1 in _input(case).shape[2:],
        "not defined",
        "reflection within a single pixel: onnx.reference divides by 0.",
    ),
)


def known_difference(case: Case) -> Known | None:
    """The difference that explains a case."""
    return next((each for each in KNOWN if case.operator in each.operators.split() and each.when(case)), None)
