"""`onnxperf.runs`: what was measured before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from onnxperf.records.runs import KeptRuns
from onnxperf.results.runs import RunsResult
from onnxperf.store import is_missing, open_store


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
