"""The number of nodes in a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from onnxperf.wording.numbers import count


def toy_answer(model: str, operators: Mapping[str, int]) -> str:
    """How many nodes there are."""
    return f"{model} has {count(sum(operators.values()), 'node')}."
