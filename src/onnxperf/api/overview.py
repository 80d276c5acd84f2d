"""The histories of all models of an open store at once, for the pages of `onnxperf serve`."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.analyze.judges.history import judge_history
from onnxperf.analyze.judges.overview import concerns_of, histories_by_model, models_now
from onnxperf.api._shared.since import begin_of
from onnxperf.errors import BadOption
from onnxperf.records.history import By, History
from onnxperf.records.overview import GateNow, Overview
from onnxperf.records.runs import COMMIT
from onnxperf.results.base import Result
from onnxperf.store import Store
from onnxperf.store.histories import SeriesSearch
from onnxperf.store.run_figures import outcomes_of
from onnxperf.store.search import RunSearch, search_runs
from onnxperf.wording.names import name_of

MIN_EFFECT = 0.01
"""Smallest relative change that counts."""
MOST_MODELS = 50
"""Maximum number of models in an overview, the ones measured last."""
_GATES = 6


def since_text(since: str) -> str:
    """A date, or a number of days, in the format of the tables; empty for all time."""
    return begin_of(since or None)


def overview(store: Store, wanted: SeriesSearch) -> Overview:
    """The time of every model now, what needs attention, and the latest gates."""
    wanted = replace(wanted, since=since_text(wanted.since))
    models, left_out = (wanted.models, 0) if wanted.models else store.newest_models(wanted, MOST_MODELS)
    stored = store.newest_histories(replace(wanted, models=tuple(models))) if models else []
    histories = histories_by_model(stored, MIN_EFFECT, wanted.newest)
    runs, gates = _gates(store, wanted)
    return Overview(
        models=tuple(models_now(histories)),
        concerns=tuple(concerns_of(histories, gates)),
        gates=tuple(gates),
        runs=runs,
        left_out=left_out,
    )


def _gates(store: Store, wanted: SeriesSearch) -> tuple[int, list[GateNow]]:
    """The number of all runs, and the latest gates."""
    every = RunSearch(machine=wanted.machine, branch=wanted.branch, since=wanted.since)
    with store.reading() as connection:
        runs = search_runs(connection, every, limit=0).total
        found = [each.run for each in search_runs(connection, replace(every, kind="gate"), _GATES).runs]
        outcomes = outcomes_of(connection, [each.id for each in found]) if found else {}
    gates = [
        GateNow(
            run=each.id,
            started=each.started,
            model=each.topic,
            outcome=outcomes.get(each.id),
            answer=each.answer,
            commit=each.tags.get(COMMIT, ""),
        )
        for each in found
    ]
    return runs, gates


def label_history(store: Store, model: str, wanted: SeriesSearch, by: By | None) -> Result[History]:
    """The history of the label of a model, as `onnxperf.history` judges it; no file is opened."""
    found = store.newest_histories(replace(wanted, models=(model,), since=since_text(wanted.since)))
    if not found:
        raise BadOption(f"no race of {name_of(model)} with these filters in the store {store.place}")
    return Result(judge_history(model, found, by, MIN_EFFECT, wanted.newest))
