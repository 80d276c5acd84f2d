"""How many nodes a model has."""

from __future__ import annotations

from msgspec import Struct


class Toy(Struct, frozen=True, kw_only=True):
    """What `onnxperf toy` found."""

    version: int = 1
    command: str = ""
    model: str
    operators: dict[str, int]
    answer: str = ""
