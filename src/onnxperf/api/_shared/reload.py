"""Sources that differ from their model because the function that makes them makes another one at every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from onnxperf.analyze.answers.convert import other_model_text
from onnxperf.analyze.judges.agreement import same_again
from onnxperf.api._shared.outputs import outputs_of
from onnxperf.api._shared.sources import load_source, made_by
from onnxperf.api._shared.subjects import rows_of
from onnxperf.errors import OnnxperfError
from onnxperf.measure.messages import WorkerSpec
from onnxperf.records.options import Tolerances

Specs = Callable[[Mapping[str, object]], list[WorkerSpec]]
"""Workers for sources by name."""


def explained(
    differing: Mapping[str, str], sources: Mapping[str, object], specs: Specs, tolerances: Tolerances
) -> dict[str, str]:
    """Why subjects differ; for one that a function made, it is called once more, and the two models are compared."""
    reasons = dict(differing)
    for name, source in sources.items():
        rows = rows_of(name, differing)
        function = made_by(source)
        if not rows or function is None:
            continue
        with suppress(OnnxperfError):  # how it differs from the model stands
            first, second = (outputs_of(specs({name: each})[0]) for each in (source, load_source(function)))
            if not same_again(first, second, tolerances):
                reasons |= {row: other_model_text(function, differing[row]) for row in rows}
    return reasons
