"""How many nodes a model has."""

from __future__ import annotations

from onnxperf.records.base import Experiment


class Toy(Experiment, frozen=True, kw_only=True):
    """What `onnxperf toy` found."""

    model: str
    operators: dict[str, int]
