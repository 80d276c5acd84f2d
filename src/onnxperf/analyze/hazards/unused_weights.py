"""Unused initializers, which are read and stored for nothing."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of
from onnxperf.wording.numbers import count, size

_FEWEST_BYTES = 1024
"""Smaller amounts are negligible."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Unused initializers that are large enough to matter."""
    unused = facts.inspection.unused
    stored = sum(each.nbytes for each in unused)
    if stored < _FEWEST_BYTES:
        return
    yield Hazard(
        kind="unused-weights",
        title="unused weights",
        evidence=f"{count(len(unused), 'unused initializer')} with {size(stored)}: "
        f"{first_of([each.name for each in unused], 3)}",
        remedy="omit them when exporting the model",
        trials=(Trial(name="rewrite drop-unused", rewrite="drop-unused"),),
    )
