"""`onnxperf.runs`: what was measured before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onnxperf.records.runs import KeptRuns
from onnxperf.results.runs import RunsResult
from onnxperf.store import is_missing, open_store, waiting
from onnxperf.wording.numbers import count


def runs(
    limit: int | None = None,
    *,
    kind: str | None = None,
    tags: Mapping[str, str] | None = None,
    store: str | Path | None = None,
) -> RunsResult:
    """The runs in the store, the newest first.

    `kind` chooses bench, sweep, profile, check…; `tags` those that have all of these, and the start of a commit is
    enough.
    """
    if is_missing(store):
        return RunsResult(KeptRuns())  # looking makes no file
    with open_store(store, reading=True) as opened:
        chosen = [("kind", kind), *(tags or {}).items()] if kind is not None else list((tags or {}).items())
        found = opened.runs(limit, kind, tags or {})
        return RunsResult(KeptRuns(runs=tuple(found), chosen=tuple(f"{name}={value}" for name, value in chosen)))


def results_that_wait() -> list[str]:
    """A line for each store that could not be written, about what waits for it."""
    return [
        f"{count(each.results, 'result')} in {each.folder} {'waits' if each.results == 1 else 'wait'} for the store "
        f"{each.place}; the next command that writes there takes {'it' if each.results == 1 else 'them'} along"
        for each in waiting()
    ]
