"""Quantization of a model to int8: the tested candidates, the effect on each layer, and the loss of accuracy."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count, Signed
from onnxperf.records.race import Case

Mode = Literal["dynamic", "static"]
Integer = Literal["int8", "uint8"]
LayerOutcome = Literal["won", "lost", "same"]
FLOAT32, INT8 = "float32", "int8"
"""Names of the two sides of a race."""


class QuantizationWay(Struct, frozen=True, kw_only=True):
    """A candidate for quantizing a model: one set of arguments of onnxruntime's quantizer."""

    name: str
    """Name of its row."""
    mode: Mode
    """dynamic: activation ranges are computed in every call; static: they are calibrated beforehand."""
    weights: Integer = "int8"
    """Type of the weights."""
    activations: Integer = "uint8"
    """Type of the activations."""
    per_channel: bool = False
    """Whether every output channel of a weight has its own scale."""


class OutputError(Struct, frozen=True, kw_only=True):
    """Difference of one output of the quantized model from the original, over all inputs."""

    name: str
    """Name of the output."""
    relative: float | None = None
    """Norm of the difference / norm of the original output; null if not finite, or for labels."""
    max_abs: float | None = None
    """Largest absolute difference of any element."""
    max_relative: float | None = None
    """Largest absolute difference / largest absolute value of the original output."""
    cosine: float | None = None
    """Cosine similarity of both outputs; 1 means the same direction."""
    top1: float | None = None
    """Share of the rows with the same top class (position of the largest value, or label); null if the output does not
    look like classes."""
    rows: Count = 0
    """Number of rows compared for it."""
    elements: Count = 0
    """Number of floating-point values compared; 0 for labels."""


class TriedWay(Struct, frozen=True, kw_only=True):
    """A tested candidate, its speed and its error."""

    way: QuantizationWay
    """The candidate."""
    status: Status = "pending"
    """Final status."""
    reason: str = ""
    """Why the status is not ok."""
    nodes: Count = 0
    """Number of nodes that the quantizer replaced, or placed between QuantizeLinear and DequantizeLinear."""
    excluded: tuple[str, ...] = ()
    """Nodes kept in float32 because they were slower in int8."""
    size_bytes: Count | None = None
    """Size of the quantized model file."""
    against: str = FLOAT32
    """Its baseline in the race: float32, or the candidate that it should improve on."""
    speedup: Amount | None = None
    """Baseline time / its time in the search; above 1 is faster."""
    speedup_low: Amount | None = None
    """Lower end of the confidence interval."""
    speedup_high: Amount | None = None
    """Upper end of the confidence interval."""
    verdict: Verdict | None = None
    """Verdict derived from the interval."""
    error: float | None = None
    """Largest difference of an output / its largest value, on the inputs used for choosing; null if not finite."""
    acceptable: bool = False
    """Whether the error is within the limit."""


class LayerChange(Struct, frozen=True, kw_only=True):
    """Original nodes whose time is known in float32 and in int8, from profiles of both."""

    nodes: tuple[str, ...]
    """Names of the original nodes."""
    ops: tuple[str, ...]
    """Operator types of the original nodes."""
    before_us: Signed
    """Time per inference in float32, in µs."""
    after_us: Signed
    """Time per inference in int8, including conversions to and from int8, in µs."""
    convert_us: Signed = 0.0
    """Time of unfused conversions (QuantizeLinear, DequantizeLinear) within that, in µs."""
    kernels: tuple[str, ...] = ()
    """Operators that do their work in the executed int8 graph."""
    outcome: LayerOutcome = "same"
    """won: faster in int8; lost: slower; same: no difference proven (over launches, corrected for the number of
    layers)."""
    quantized: bool = False
    """Whether the quantizer changed any of its nodes."""
    excluded: bool = False
    """Whether it is kept in float32 in the result because it was slower in int8."""
    error: float | None = None
    """Largest difference of an output / its largest value if only this layer is quantized; null if not measured."""


class UnfusedPair(Struct, frozen=True, kw_only=True):
    """A conversion to or from int8 that is still executed as a separate node."""

    op_name: str
    """Operator type: QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear."""
    tensor: str
    """Converted tensor."""
    node: str
    """Node that prevents the fusion; empty at an input or output of the model."""
    node_op: str = ""
    """Operator type of that node."""
    why: str = ""
    """Why the conversion is not fused."""
    time_us: Signed = 0.0
    """Time per inference, in µs."""


class Quantization(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf quantize`."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model file and its external data."""
    dims: dict[str, Count] = {}
    """Size chosen for every free dimension of the model."""
    calibrated: bool = False
    """Whether real inputs were given for calibration; if not, they are random."""
    calibration_inputs: Count = 0
    """Number of inputs used to calibrate static candidates."""
    choosing_inputs: Count = 0
    """Number of other inputs used to choose the candidate and the nodes to exclude; 0 if there were too few, so that
    the calibration inputs were used."""
    held_out_inputs: Count = 0
    """Number of held-out inputs on which the errors of the result were measured."""
    overlap: bool = False
    """Whether one single input was used for calibration, choice and errors."""
    max_error: float = 0.1
    """Largest accepted error: largest difference of an output / its largest value."""
    ways: tuple[TriedWay, ...] = ()
    """Tested candidates, in order."""
    best: str = ""
    """Name of the candidate that is analyzed and confirmed: the fastest with an accepted error or, if there is none,
    the one with the smallest error; empty if none could be built."""
    chosen: str = ""
    """Name of the best candidate; empty if it is slower than float32."""
    excluded: tuple[str, ...] = ()
    """Original nodes kept in float32 because they were slower in int8."""
    layers: tuple[LayerChange, ...] = ()
    """Original nodes in float32 and int8, largest float32 time first; before nodes were excluded."""
    unfused: tuple[UnfusedPair, ...] = ()
    """Conversions that are still executed, most expensive first; before nodes were excluded."""
    errors: tuple[OutputError, ...] = ()
    """Error of each output of the result on held-out inputs."""
    searches: tuple[Case, ...] = ()
    """Races of the search."""
    race: Case | None = None
    """Confirming race on fresh inputs, float32 against int8; the answer is based on it alone."""
    size_before_bytes: Count = 0
    """Size of the original model."""
    size_after_bytes: Count | None = None
    """Size of the result."""
    output: str = ""
    """File of the result; empty if none was requested or nothing was chosen."""
    interrupted: bool = False
    """Whether the user stopped it early."""
