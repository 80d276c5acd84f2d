"""Requests to a quantizer: a worker with onnxruntime's quantizer that writes models and compares them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.measure.messages import Reply, Request
from onnxperf.measure.reading import ModelPlace
from onnxperf.records.options import SessionOptions
from onnxperf.records.quantize import OutputError, QuantizationWay


class InputRange(Struct, frozen=True):
    """A range of the worker's inputs: from `first` up to but excluding `last`."""

    first: int
    last: int


class PreparedModel(Reply, frozen=True):
    """The model was written in a form that the quantizer accepts."""

    nodes: int
    """Number of nodes."""
    convolutions: int = 0
    """Number of convolutions among them."""


class PrepareModel(Request[PreparedModel], frozen=True):
    """Name every node and apply onnxruntime's recommended preprocessing (basic optimizations, shapes)."""

    answered_by = "onnxperf.measure.worker.quantizing:prepare_model"
    place: ModelPlace
    path: str
    """Output file."""


class QuantizedModel(Reply, frozen=True):
    """A quantized model was written."""

    nodes: tuple[str, ...]
    """Quantized nodes of the prepared model; empty if there was nothing to do."""
    size_bytes: int


class QuantizeModel(Request[QuantizedModel], frozen=True):
    """Quantize a prepared model."""

    answered_by = "onnxperf.measure.worker.quantizing:quantize_model"
    prepared: str
    path: str
    """Output file."""
    way: QuantizationWay
    calibration: InputRange
    """Calibration inputs for static quantization."""
    only: tuple[str, ...] = ()
    """Nodes to quantize [default: all]."""
    exclude: tuple[str, ...] = ()
    """Nodes to leave unchanged."""


class ConvertedModel(Reply, frozen=True):
    """A model of another precision was written and runs in onnxruntime."""

    size_bytes: int


class ConvertModel(Request[ConvertedModel], frozen=True):
    """Convert the weights and activations of a prepared model to another floating-point type."""

    answered_by = "onnxperf.measure.worker.quantizing:convert_model"
    prepared: str
    path: str
    """Output file."""
    precision: Literal["float16", "bfloat16"]
    session: SessionOptions


class ComparedModels(Reply, frozen=True):
    """Differences between the outputs of two models, and their approximate speeds."""

    errors: tuple[OutputError, ...]
    opening_s: float = 0.0
    """Time for opening the other model."""
    call_s: float = 0.0
    """Median time of its calls."""
    reference_call_s: float = 0.0
    """Median time of the reference model's calls."""

    @property
    def ratio(self) -> float:
        """Time of a call / time of a call of the reference model."""
        return self.call_s / max(self.reference_call_s, 1e-9)


class CompareModels(Request[ComparedModels], frozen=True):
    """Run two models on the same inputs."""

    answered_by = "onnxperf.measure.worker.quantizing:compare_models"
    reference: str
    """File of the reference model."""
    path: str
    """File of the other model."""
    session: SessionOptions
    inputs: InputRange
