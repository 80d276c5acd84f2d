"""`onnxperf.runs`: saved runs."""

from __future__ import annotations

from collections.abc import Mapping

from onnxperf.api._keeping.kept_runs import Where, place_in
from onnxperf.api._shared.public import public
from onnxperf.options.functions import RUNS
from onnxperf.records.runs import KeptRuns
from onnxperf.results.runs import RunsResult
from onnxperf.store import is_missing, open_store


@public(RUNS, saves=False)
def runs(
    *, top: int | None, kind: str | None, about: str | None, tags: Mapping[str, str] | None, store: Where
) -> RunsResult:
    """The runs in the store, the newest first.

    `kind` chooses bench, sweep, profile, check…; `about` those of a model; `tags` those that have all of these, and the
    start of a commit is enough.
    """
    place, wanted = place_in(store), dict(tags or {})
    if is_missing(place):
        return RunsResult(KeptRuns())  # looking makes no file
    chosen = {name: value for name, value in {"kind": kind, "about": about}.items() if value is not None} | wanted
    with open_store(place, reading=True) as opened:
        found = opened.runs(top if about is None else None, kind, wanted)
    if about is not None:
        found = [run for run in found if about.casefold() in run.topic.casefold()][:top]
    return RunsResult(KeptRuns(runs=tuple(found), chosen=tuple(f"{name}={value}" for name, value in chosen.items())))
