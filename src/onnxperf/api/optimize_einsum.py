"""`onnxperf.optimize_einsum`: the fastest ONNX graph for an equation and its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from onnxperf.api._shared.einsum_plans import DEFAULT_TIME_S, plan_for, request_for
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.requests import EinsumKeywords
from onnxperf.api._shared.requests import parse as parse_keywords
from onnxperf.contraction.equation import parse
from onnxperf.contraction.graph import DEFAULT_OPSET
from onnxperf.measure.race import Progress
from onnxperf.results.einsum import EinsumResult


@shows_progress
def optimize_einsum(
    equation: str,
    shapes: Sequence[Sequence[int]],
    *,
    dtype: str = "float32",
    search: bool = True,
    progress: Progress = automatic,
    **keywords: Unpack[EinsumKeywords],
) -> EinsumResult:
    """Find the fastest graph for an equation on these shapes; a plan that was found before is not searched again.

    `search=False` trusts the cost model, `portable=True` allows only standard operators, `again=True` searches even
    if there is a plan already, and `time` is for all of it, in seconds: what does not fit is left out, with a note.
    If the final race is undecided, its baseline is taken, and the plan is not kept. Ctrl-C returns what was found
    until then.
    """
    settings = parse_keywords(keywords, EinsumKeywords)
    request = request_for(
        parse(equation, [tuple(int(size) for size in shape) for shape in shapes]),
        dtype,
        keywords.get("runtime", "ort"),
        settings.session.threads,
        opset=keywords.get("opset", DEFAULT_OPSET),
        portable=keywords.get("portable", False),
    )
    time, again = settings.race.time or DEFAULT_TIME_S, keywords.get("again", False)
    return plan_for(request, search=search, again=again, time=time, progress=progress)
