"""`onnxperf.load_run`: a run from the store, as if it had just been measured."""

from __future__ import annotations

from pathlib import Path

from onnxperf.api.runs import load_bench
from onnxperf.results.bench import BenchResult


def load_run(run: str = "last", *, store: str | Path | None = None) -> BenchResult:
    """A run of cases with all its raw blocks; `run` is an id, the start of one, or last."""
    return BenchResult(load_bench(run, store=store)[1])
