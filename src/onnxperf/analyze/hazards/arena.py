"""An arena that holds far more memory than tensors need."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import significant, spoken_size

_FACTOR = 4
"""Multiple of the planned minimum from which an arena is reported."""
_LEAST_BYTES = 8 * 10**6
"""A smaller excess is negligible."""


def find(facts: Facts) -> Iterator[Hazard]:
    """An arena that holds several times the live set; packed weights are needed and counted separately."""
    arena = facts.arena
    if arena is None or facts.session.arena == "off" or arena.planned_bytes <= 0:
        return
    held = arena.held_bytes - arena.loaded_bytes
    if held < _FACTOR * arena.planned_bytes or held - arena.planned_bytes < _LEAST_BYTES:
        return
    packed = f", in addition to {spoken_size(arena.loaded_bytes)} of packed weights" if arena.loaded_bytes else ""
    settings = [each for each in ("off", "same-as-requested") if each != facts.session.arena]
    yield Hazard(
        kind="arena",
        title="oversized arena",
        evidence=f"onnxruntime's arena holds {spoken_size(held)}{packed}; {spoken_size(arena.planned_bytes)} are alive "
        f"at once ({significant(held / arena.planned_bytes)} times as much)",
        remedy="if memory matters, change the arena settings",
        goal="memory",
        trials=tuple(Trial(name=f"arena={each}", settings={"arena": each}) for each in settings),
    )
