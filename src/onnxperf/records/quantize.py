"""A model in int8: the ways that were tried, what each layer won or lost, and what it costs in accuracy."""

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
    """A way to quantise a model: one set of arguments of onnxruntime's quantiser."""

    name: str
    """What its row is called."""
    mode: Mode
    """dynamic: ranges of activations are found in every call; static: they were calibrated before."""
    weights: Integer = "int8"
    """Type of the weights."""
    activations: Integer = "uint8"
    """Type of the activations."""
    per_channel: bool = False
    """Every output channel of a weight has a scale of its own."""


class OutputError(Struct, frozen=True, kw_only=True):
    """How one output of the quantised model differs from that of the original, over all inputs together."""

    name: str
    """Name of the output."""
    relative: float | None = None
    """Norm of the difference / norm of the original output; null where that is not finite, or for labels."""
    max_abs: float | None = None
    """Largest absolute difference of an element."""
    max_relative: float | None = None
    """Largest absolute difference / largest absolute value of the original output."""
    cosine: float | None = None
    """Cosine of the angle between both outputs; 1 is the same direction."""
    top1: float | None = None
    """Part of the rows whose largest value is at the same place, or whose label is the same; null where the output does
    not look like classes."""
    rows: Count = 0
    """Rows that were compared for it."""
    elements: Count = 0
    """Floating-point numbers that were compared; 0 for labels."""


class TriedWay(Struct, frozen=True, kw_only=True):
    """A way to quantise the model, how fast that is, and how far off."""

    way: QuantizationWay
    """What was tried."""
    status: Status = "pending"
    """How it ended."""
    reason: str = ""
    """Why it is not ok."""
    nodes: Count = 0
    """Nodes that the quantiser replaced, or put between QuantizeLinear and DequantizeLinear."""
    excluded: tuple[str, ...] = ()
    """Nodes that were left in float32 because they were slower in int8."""
    size_bytes: Count | None = None
    """Size of its file."""
    against: str = FLOAT32
    """What it was raced against: float32, or the way that it is meant to improve."""
    speedup: Amount | None = None
    """Time of that / its time in the search, above 1 is faster."""
    speedup_low: Amount | None = None
    """Lower end of its interval."""
    speedup_high: Amount | None = None
    """Upper end of its interval."""
    verdict: Verdict | None = None
    """What the interval says."""
    error: float | None = None
    """Largest difference of an output / its largest value, on the inputs that choose; null where it is not finite."""
    acceptable: bool = False
    """Whether that is within the limit."""


class LayerChange(Struct, frozen=True, kw_only=True):
    """Nodes of the original model whose time can be told in float32 and in int8, from profiles of both."""

    nodes: tuple[str, ...]
    """Names of the original nodes."""
    ops: tuple[str, ...]
    """Their operators."""
    before_us: Signed
    """Time per inference in float32, in microseconds."""
    after_us: Signed
    """Time per inference in int8, conversions to and from int8 included, in microseconds."""
    convert_us: Signed = 0.0
    """The part of that in conversions which did not fuse (QuantizeLinear, DequantizeLinear), in microseconds."""
    kernels: tuple[str, ...] = ()
    """Operators that do their work in int8's executed graph."""
    outcome: LayerOutcome = "same"
    """won: faster in int8; lost: slower; same: no difference was proven, over launches and all layers."""
    quantized: bool = False
    """Whether the quantiser touched one of its nodes."""
    excluded: bool = False
    """Left in float32 in the result, because it was slower in int8."""
    error: float | None = None
    """The same where only this layer is quantised; null where that was not measured."""


class UnfusedPair(Struct, frozen=True, kw_only=True):
    """A conversion to or from int8 that is still executed as a node of its own."""

    op_name: str
    """QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear."""
    tensor: str
    """Tensor that is converted."""
    node: str
    """Node that breaks the fusion; empty at an input or an output of the model."""
    node_op: str = ""
    """Its operator."""
    why: str = ""
    """Why it is not fused."""
    time_us: Signed = 0.0
    """Time per inference, in microseconds."""


class Quantization(Experiment, frozen=True, kw_only=True):
    """What `onnxperf quantize` found."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of its file and its external data."""
    dims: dict[str, Count] = {}
    """Every dimension that was free in the model, with the size it got."""
    calibrated: bool = False
    """Whether real inputs were given for calibration; otherwise they are random."""
    calibration_inputs: Count = 0
    """Calls of the model with which static ways were calibrated."""
    choosing_inputs: Count = 0
    """Calls of the model on other inputs, which chose the way and the nodes to exclude; 0 where there were too few:
    then the calibration's did."""
    held_out_inputs: Count = 0
    """Calls of the model on inputs that chose nothing, on which the errors of the result were measured."""
    overlap: bool = False
    """There was one input only: it calibrated, chose, and measured the errors."""
    max_error: float = 0.1
    """Largest difference of an output / its largest value that was accepted."""
    ways: tuple[TriedWay, ...] = ()
    """What was tried, in this order."""
    best: str = ""
    """Name of the way that was explained and confirmed: the fastest whose error is accepted, or the one with the
    smallest error where none is; empty where none could be made."""
    chosen: str = ""
    """The same; empty where it is slower than float32."""
    excluded: tuple[str, ...] = ()
    """Nodes of the original model that stay in float32 because they were slower in int8."""
    layers: tuple[LayerChange, ...] = ()
    """Original nodes before and after, the largest time in float32 first; before nodes were excluded."""
    unfused: tuple[UnfusedPair, ...] = ()
    """Conversions that are still executed, the costliest first; before nodes were excluded."""
    errors: tuple[OutputError, ...] = ()
    """Errors of the result on held-out inputs, by output."""
    searches: tuple[Case, ...] = ()
    """The races in which the way was found."""
    race: Case | None = None
    """The confirming race on fresh inputs, float32 against int8: the answer rests on it alone."""
    size_before_bytes: Count = 0
    """Size of the original model."""
    size_after_bytes: Count | None = None
    """Size of the result."""
    output: str = ""
    """File of the result; empty where none was requested, or nothing was chosen."""
    interrupted: bool = False
    """Stopped by the user before its end."""
