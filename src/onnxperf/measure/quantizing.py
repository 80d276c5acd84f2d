"""What a quantiser is asked for: a worker with onnxruntime's quantiser, which writes models and compares them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from onnxperf.measure.messages import Reply, Request
from onnxperf.measure.reading import ModelPlace
from onnxperf.records.options import SessionOptions
from onnxperf.records.quantize import OutputError, QuantizationWay


class InputRange(Struct, frozen=True):
    """Some of the inputs that the worker holds, by their numbers: from the first up to, without, the last."""

    first: int
    last: int


class PreparedModel(Reply, frozen=True):
    """The model as the quantiser takes it is in the file."""

    nodes: int
    """How many nodes it has."""
    convolutions: int = 0
    """How many of them are convolutions."""


class PrepareModel(Request[PreparedModel], frozen=True):
    """Give every node a name, and apply what onnxruntime recommends before quantising (basic optimisations, shapes)."""

    answered_by = "onnxperf.measure.worker.quantizing:prepare_model"
    place: ModelPlace
    path: str
    """File to write."""


class QuantizedModel(Reply, frozen=True):
    """A quantised model was written."""

    nodes: tuple[str, ...]
    """Nodes of the prepared model that are quantised; none means that there was nothing to do."""
    size_bytes: int


class QuantizeModel(Request[QuantizedModel], frozen=True):
    """Quantise a prepared model."""

    answered_by = "onnxperf.measure.worker.quantizing:quantize_model"
    prepared: str
    path: str
    """File to write."""
    way: QuantizationWay
    calibration: InputRange
    """Inputs for static ways."""
    only: tuple[str, ...] = ()
    """Nodes to quantise; all unless given."""
    exclude: tuple[str, ...] = ()
    """Nodes to leave as they are."""


class ConvertedModel(Reply, frozen=True):
    """A model of another precision was written, and onnxruntime can run it."""

    size_bytes: int


class ConvertModel(Request[ConvertedModel], frozen=True):
    """Convert the weights and activations of a prepared model to another floating-point type."""

    answered_by = "onnxperf.measure.worker.quantizing:convert_model"
    prepared: str
    path: str
    """File to write."""
    precision: Literal["float16", "bfloat16"]
    session: SessionOptions


class ComparedModels(Reply, frozen=True):
    """How the outputs of two models differ, by output, and what the comparison showed of their speed on its way."""

    errors: tuple[OutputError, ...]
    opening_s: float = 0.0
    """Opening the other model."""
    call_s: float = 0.0
    """Median of its calls."""
    reference_call_s: float = 0.0
    """That of the model that is right."""

    @property
    def ratio(self) -> float:
        """Time of a call / that of the model that is right."""
        return self.call_s / max(self.reference_call_s, 1e-9)


class CompareModels(Request[ComparedModels], frozen=True):
    """Run two models on the same inputs."""

    answered_by = "onnxperf.measure.worker.quantizing:compare_models"
    reference: str
    """File of the model that is right."""
    path: str
    """File of the other one."""
    session: SessionOptions
    inputs: InputRange
