"""`onnxperf.load_run`: a run from the store, as if it had just been measured."""

from __future__ import annotations

from onnxperf.api._shared.kept_runs import Where, load_bench
from onnxperf.results.bench import BenchResult


def load_run(run: str = "last", *, store: Where = None) -> BenchResult:
    """A run of cases with all its raw blocks; `run` is an id, the start of one, or last."""
    name, record = load_bench(run, store=store)
    result = BenchResult(record)
    result.run = name
    return result
