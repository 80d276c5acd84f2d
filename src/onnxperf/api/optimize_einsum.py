"""`onnxperf.optimize_einsum`: the fastest ONNX graph for an equation and its shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxperf.api._shared.einsum_plans import plan_for, request_for
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.contraction.equation import parse
from onnxperf.contraction.graph import DEFAULT_OPSET
from onnxperf.measure.race import Progress
from onnxperf.options.functions import OPTIMIZE_EINSUM
from onnxperf.results.einsum import EinsumResult


@public(OPTIMIZE_EINSUM)
def optimize_einsum(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    dtype: str,
    search: bool,
    time: float,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> EinsumResult:
    """Find the fastest graph for an equation on these shapes; a plan found before is not searched again.

    `search=False` trusts the cost model, `portable=True` allows only standard operators, `again=True` searches even
    if there is a plan already, and `time` is for all of it, in seconds: what does not fit is left out, with a note.
    If the final race is undecided, its baseline is taken, and the plan is not kept. Ctrl-C returns the results so far.
    """
    request = request_for(
        parse(equation, [tuple(int(size) for size in shape) for shape in shapes]),
        dtype,
        given.get("runtime", "ort"),
        given.get("threads"),
        opset=given.get("opset", DEFAULT_OPSET),
        portable=given.get("portable", False),
    )
    again, limits = given.get("again", False), settings.limits
    return plan_for(request, search=search, again=again, time=time, limits=limits, progress=progress)
