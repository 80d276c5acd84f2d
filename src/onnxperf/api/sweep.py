"""`onnxperf.sweep`: many cases from a plan, kept one by one, and resumed where they were interrupted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, Unpack

from onnxperf.api._cluster.places import place_in
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._shared.plans import plan_cells
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.requests import PlaceKeywords
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.measure.race import Progress
from onnxperf.results.bench import BenchResult


@shows_progress
def sweep(
    plan: str | Path | Mapping[str, Any],
    *,
    store: Where | Literal[False] = False,
    resume: str | None = None,
    retry: Collection[str] = (),
    tags: Mapping[str, str] | None = None,
    progress: Progress = automatic,
    **where: Unpack[PlaceKeywords],
) -> BenchResult:
    """Run every case of a plan (a .toml file or its contents); each is kept in the store as soon as it is finished.

    `store` is a file, a URL, None for the usual place, or False. `resume` names a run in the store whose remaining
    cases are run ("last" is the newest), and `retry` statuses whose cases are run again, such as failed or oom.
    `tags` are kept with the run, beside the commit and the branch of the current folder in Git. With a store, every
    case has a yardstick by which later runs can be compared, unless the options of the plan say otherwise. `on` is a
    cluster whose nodes run the cases, as for `bench`; a case whose node is lost waits to be resumed.
    """
    place = place_in(where)
    cells = plan_cells(plan, yardstick=store is not False)
    keeping = Keeping(store, "onnxperf.sweep", resume, retry, tags or {})
    return run_sweep(cells, progress, keeping, place=place)
