"""How many environments there are, and what they take, in one plain sentence."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.envs import Environment
from onnxperf.wording.numbers import count, size


def environments_answer(environments: Sequence[Environment], folder: str) -> str:
    """Their number, size and place."""
    if not environments:
        return "No environment was built yet."
    total = size(sum(each.size_bytes or 0 for each in environments))
    verb = "takes" if len(environments) == 1 else "take"
    return f"{count(len(environments), 'environment')} {verb} {total} in {folder}."
