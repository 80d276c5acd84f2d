"""`onnxperf.sweep`: many cases from a plan, saved one by one, and resumed where they were interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnxperf.api._cluster.places import place_in
from onnxperf.api._shared.estimates import estimate
from onnxperf.api._shared.plans import check_models, plan_cells
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import wants_yardstick
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.measure.race import Progress
from onnxperf.options.functions import CASE, SWEEP
from onnxperf.records.sweep import Estimate
from onnxperf.results.bench import BenchResult


@public(SWEEP, saves=False)
def sweep(
    plan: str | Path | Mapping[str, Any], *, given: Mapping[str, Any], progress: Progress = automatic
) -> BenchResult:
    """Run every case of a plan (a .toml file or its contents); with a store, each is saved as soon as it is finished.

    `resume` names a run in the store whose remaining cases are run ("last" is the newest), and `retry` statuses whose
    cases are run again, such as failed or oom. `tags` are saved with the run, in addition to the commit and the branch
    of the current folder in Git. With a store, every case has a yardstick by which later runs can be compared, unless
    the options of the plan say otherwise. Options of a case, such as `time`, override those of the plan. `on` is a
    cluster whose nodes run the cases, as for `bench`; a case whose node is lost waits to be resumed.
    """
    keeping, place = Keeping.of(given), place_in(given)
    cells = plan_cells(plan, yardstick=wants_yardstick(given), overrides=_of_cases(given))
    return run_sweep(cells, progress, keeping, place)


def planned(plan: str | Path | Mapping[str, Any], given: Mapping[str, Any]) -> tuple[list[str], Estimate]:
    """The cases of a plan, and how long they would take here; models are opened, but no function is imported."""
    cells = plan_cells(plan, listed=True, yardstick=wants_yardstick(given), overrides=_of_cases(given))
    check_models(plan)
    return [cell.key for cell in cells], estimate(cells)


def _of_cases(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in CASE.options}
