"""`onnxperf.bench`: race models, call styles, runtimes and callables against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

from onnxperf.api._shared.cells import Against, Contest, cell_of_functions, cells_of, run_cells
from onnxperf.api._shared.requests import BenchKeywords, parse
from onnxperf.api._shared.subjects import (
    Functions,
    Sources,
    functions_in,
    refuse_options_of_models,
)
from onnxperf.measure.race import Progress
from onnxperf.results.bench import BenchResult


def bench(
    model: Sources | Functions,
    *,
    call: str | Sequence[str] = "run",
    runtime: str | Sequence[str] = "ort",
    feeds: Mapping[str, Any] | None = None,
    against: Against = None,
    progress: Progress = lambda _done, _text: None,
    **keywords: Unpack[BenchKeywords],
) -> BenchResult:
    """Time a model, or race several ways of running it; Ctrl-C returns what was measured until then.

    `model` is a path, bytes, a ModelProto or the name of a zoo model ("zoo:resnet50"), or a list or dict of them.
    `against` adds what it was converted from (a torch module, a Keras model, the path of a saved_model, a fitted
    estimator) or any callable, by name; for a zoo model, names of frameworks. They are called with the feeds in the
    order of the model's inputs, each in a process of its own; one whose outputs are not the model's gets the status
    `differs`. Where `dims` has several values for a dimension, there is a case for every combination.
    A function without arguments, or a dict of them by name, is raced without any model.
    """
    settings = parse(keywords, BenchKeywords)
    functions = functions_in(model)
    if functions:
        asked = {**keywords, "call": call, "runtime": runtime, "feeds": feeds, "against": against}
        refuse_options_of_models(asked, {"call": "run", "runtime": "ort"})
        return BenchResult(run_cells([cell_of_functions(functions, settings)], progress))
    contest = Contest(cast("Sources", model), against, call, runtime, feeds)
    return BenchResult(run_cells(cells_of(contest, settings), progress))
