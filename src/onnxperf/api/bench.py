"""`onnxperf.bench`: race models, call styles, runtimes and callables against each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from onnxperf.api._cluster.places import place_in
from onnxperf.api._keeping.saving import Saving
from onnxperf.api._shared.cells import Cell, Contest, cell_of_functions, cells_of, run_cells
from onnxperf.api._shared.progress import automatic
from onnxperf.api._shared.public import public
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Functions, Sources, functions_in, refuse_options_of_models
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.caller import with_command
from onnxperf.measure.race import Progress
from onnxperf.options.functions import BENCH
from onnxperf.results.bench import BenchResult


@public(BENCH, saves=False)
def bench(
    model: Sources | Functions,
    feeds: Mapping[str, Any] | None = None,
    *,
    settings: Settings,
    given: Mapping[str, Any],
    progress: Progress = automatic,
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns the results so far.

    `model` is a path, bytes, a ModelProto or the name of a zoo model ("zoo:resnet50"), or a list or dict of them.
    `call` and `runtime` are names, separated by commas, and `feeds` arrays by input. `against` adds what it was
    converted from (a torch module, a Keras model, the path of a saved_model, a fitted estimator) or any callable, by
    name; for a zoo model, names of frameworks. They are called with the feeds in the order of the model's inputs, each
    in a process of its own. A subject whose outputs are not those of the first model gets the status `differs`, unless
    `check` is False; models of other inputs or outputs are not compared. If `dims` has several values for a dimension,
    there is a case for every combination. With `yardstick` (the default if the run is saved), a small fixed model is
    measured before and after each race, so that later runs can be compared with this one.
    A function without arguments, or a dict of them by name, is raced without any model.
    """
    keeping, place = Keeping.of(given), place_in(given)
    cells = _cells(model, settings, {**given, "feeds": feeds})
    if len(cells) > 1 or keeping.resumes or (place is not None and place.each):
        result = run_sweep(cells, progress, keeping, place)
    else:  # a single case is saved as a whole at the end
        saving = Saving(keeping.store, keeping.tags)
        result = saving.saved(with_command(BenchResult(run_cells(cells, progress, place=place))))
    result.max_slowdown = given.get("max_slowdown")
    return result


def _cells(model: Sources | Functions, settings: Settings, given: Mapping[str, Any]) -> list[Cell]:
    functions = functions_in(model)
    if functions:
        refuse_options_of_models(given)
        return [cell_of_functions(functions, settings)]
    return cells_of(Contest.of(cast("Sources", model), given), settings)
