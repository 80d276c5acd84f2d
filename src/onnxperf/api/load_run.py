"""`onnxperf.load_run`: a run from the store or from its file, as if it had just been measured."""

from __future__ import annotations

from pathlib import Path

from onnxperf.api._keeping.kept_runs import Where, load_bench
from onnxperf.errors import BadInput
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json
from onnxperf.results.bench import BenchResult


def load_run(run: str | Path = "last", *, store: Where = None) -> BenchResult:
    """A run of cases with all its raw blocks; `run` is an id, the start of one, last, or the .json file of a bench."""
    if str(run).endswith(".json"):
        return BenchResult(from_json(_bytes_of(Path(run)), Bench))
    name, record = load_bench(str(run), store=store)
    result = BenchResult(record)
    result.run = name
    return result


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error.strerror}") from error
