"""Ways to quantise a model: each is made, compared with the original on held-out inputs, and raced against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from onnxperf.analyze.judges.quantization import is_acceptable, worst_error
from onnxperf.api._quantization.quantizer import Quantized, Quantizer
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._tuning.candidates import RunCandidate, race_candidates
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions, SessionOptions
from onnxperf.records.quantize import OutputError, QuantizationWay, TriedWay
from onnxperf.records.race import Case

WAYS = (
    QuantizationWay(name="dynamic S8", mode="dynamic", weights="int8"),
    QuantizationWay(name="dynamic U8", mode="dynamic", weights="uint8"),
    QuantizationWay(name="dynamic S8 per channel", mode="dynamic", weights="int8", per_channel=True),
    QuantizationWay(name="static S8S8", mode="static", activations="int8", weights="int8"),
    QuantizationWay(name="static U8S8", mode="static", activations="uint8", weights="int8"),
    QuantizationWay(name="static U8U8", mode="static", activations="uint8", weights="uint8"),
    QuantizationWay(name="static U8S8 per channel", mode="static", weights="int8", per_channel=True),
)
"""Types of activations and weights, in this order; activations of dynamic ways are always unsigned."""

MOST_COMPARED = 32
"""Held-out inputs on which ways and layers are compared; the result is compared on all of them."""


@dataclass
class Attempts:
    """What was made so far."""

    rows: list[TriedWay] = field(default_factory=list)
    models: dict[str, Quantized] = field(default_factory=dict)
    errors: dict[str, tuple[OutputError, ...]] = field(default_factory=dict)
    """Both by the names of ways."""

    @property
    def runnable(self) -> list[str]:
        """Ways that can be raced."""
        return [row.way.name for row in self.rows if row.status == "ok"]


def attempt(
    quantizer: Quantizer, way: QuantizationWay, attempts: Attempts, max_error: float, exclude: tuple[str, ...] = ()
) -> None:
    """Make a model in one way, and measure its error; whatever goes wrong is a row with a reason."""
    row = TriedWay(way=way, excluded=exclude)
    try:
        model = quantizer.quantized(way, exclude=exclude)
        row = replace(row, nodes=len(model.nodes), size_bytes=model.size_bytes)
        if not model.nodes:
            attempts.rows.append(replace(row, status="skipped", reason="it quantises no node"))
            return
        errors = quantizer.errors(model.path, MOST_COMPARED)
    except SubjectError as error:
        attempts.rows.append(replace(row, status=error.status, reason=error.reason))
        return
    except BadInput as error:
        attempts.rows.append(replace(row, status="failed", reason=str(error)))
        return
    worst = worst_error(errors)
    attempts.models[way.name], attempts.errors[way.name] = model, errors
    attempts.rows.append(replace(row, status="ok", error=worst, acceptable=is_acceptable(worst, max_error)))


def race_models(
    entry: Entry,
    session: SessionOptions,
    models: Sequence[tuple[str, Path | None]],
    settings: Settings,
    options: RaceOptions,
    progress: Progress,
) -> Case:
    """Race the model itself (without a path) or files that were made of it, whose outputs are meant to differ."""
    tolerances = replace(settings.tolerances, check=False)
    candidates = [RunCandidate(name, session, path=path) for name, path in models]
    settings = dataclasses.replace(settings, tolerances=tolerances)
    return race_candidates(entry, candidates, settings, options, progress)
