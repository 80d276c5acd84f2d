"""`onnxperf.compare_runs`: two saved runs, compared through a subject that both have."""

from __future__ import annotations

from onnxperf.analyze.judges import run_comparison
from onnxperf.api._keeping.kept_runs import Opened, load_bench
from onnxperf.api._shared.public import public
from onnxperf.options.functions import STORED
from onnxperf.results.runs import ComparisonResult


@public(STORED)
def compare_runs(first: str, second: str, *, store: Opened) -> ComparisonResult:
    """Compare two saved races; verdicts are about the second one.

    They were not measured in turn, so there is a verdict only if a subject is the same in both and can serve as a
    yardstick. A run is given by its id, the start of it, or "last".
    """
    one, before = load_bench(first, store=store)
    other, after = load_bench(second, store=store)
    return ComparisonResult(run_comparison.compare_runs((one, other), before, after))
