"""`onnxperf.bench`: race models, call styles, runtimes and callables against each other."""

from __future__ import annotations

from typing import Unpack, cast

from onnxperf.api._cluster.places import place_in
from onnxperf.api._shared.cells import Contest, cell_of_functions, cells_of, run_cells
from onnxperf.api._shared.progress import automatic, shows_progress
from onnxperf.api._shared.requests import BenchKeywords, parse
from onnxperf.api._shared.subjects import Functions, Sources, functions_in, refuse_options_of_models
from onnxperf.measure.race import Progress
from onnxperf.results.bench import BenchResult


@shows_progress
def bench(
    model: Sources | Functions,
    *,
    progress: Progress = automatic,
    **keywords: Unpack[BenchKeywords],
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns what was measured until then.

    `model` is a path, bytes, a ModelProto or the name of a zoo model ("zoo:resnet50"), or a list or dict of them.
    `call` and `runtime` are names, separated by commas (`run` and `ort` unless given), and `feeds` arrays by input.
    `against` adds what it was converted from (a torch module, a Keras model, the path of a saved_model, a fitted
    estimator) or any callable, by name; for a zoo model, names of frameworks. They are called with the feeds in the
    order of the model's inputs, each in a process of its own. A subject whose outputs are not those of the first model
    gets the status `differs`, unless `check` is False; models of other inputs or outputs are not compared. Where
    `dims` has several values for a dimension, there is a case for every combination. With `yardstick`, a small fixed
    model is measured before and after each race, so that later runs can be compared with this one.
    A function without arguments, or a dict of them by name, is raced without any model.
    `on` is a cluster whose nodes run the cases ("ray" on this machine, ray://HOST:PORT, HOST:PORT or "auto"), and
    `nodes="each"` runs every case on every node.
    """
    settings, place = parse(keywords, BenchKeywords), place_in(keywords)
    functions = functions_in(model)
    if functions:
        refuse_options_of_models(keywords)
        return BenchResult(run_cells([cell_of_functions(functions, settings)], progress, place=place))
    contest = Contest.of(cast("Sources", model), keywords)
    return BenchResult(run_cells(cells_of(contest, settings), progress, place=place))
