"""Store queries for the pages and the API, and the meaning of their failures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Path, Query, Request
from starlette.exceptions import HTTPException

import onnxperf
from onnxperf.errors import BadOption, DamagedRun
from onnxperf.records.runs import KeptRun
from onnxperf.results.base import Result
from onnxperf.results.runs import ComparisonResult
from onnxperf.store import Store
from onnxperf.store.search import (
    FilterValues,
    FoundRun,
    FoundRuns,
    KnownModel,
    RunSearch,
    filter_values,
    known_models,
    search_runs,
    with_machines,
)
from onnxperf.wording.names import capital, name_of

LONGEST_TEXT = 300

SearchText = Annotated[
    str,
    Query(
        max_length=LONGEST_TEXT,
        description="Words that must all occur in the id, command, answer, topic or a tag.",
    ),
]
Kind = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs of this kind: bench, sweep, profile…")]
StatusName = Annotated[
    str, Query(max_length=LONGEST_TEXT, description="Only runs with this status: ok, failed, interrupted…")
]
MachineName = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs on this model of processor.")]
Tag = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs with this tag: name=value, or its name.")]
RunName = Annotated[str, Query(max_length=LONGEST_TEXT, description="A run id, the start of one, or last.")]
RunPath = Annotated[str, Path(max_length=LONGEST_TEXT, description="A run id, the start of one, or last.")]
ModelName = Annotated[str, Query(max_length=LONGEST_TEXT, description="The label of a model.")]
Newest = Annotated[int, Query(ge=0, le=10**6, description="Only the newest runs of each series; 0 means all.")]
GroupBy = Annotated[
    str,
    Query(
        max_length=LONGEST_TEXT,
        description="Group points by day, version, commit or machine [default: one point per run].",
    ),
]


def store_of(request: Request) -> Store:
    """The store shown by this server."""
    store: Store = request.app.state.store
    return store


def listed(store: Store, wanted: RunSearch, limit: int, offset: int) -> FoundRuns:
    """A page of runs."""
    with store.reading() as connection:
        return search_runs(connection, wanted, limit, offset)


def choices(store: Store) -> FilterValues:
    """The available filter values."""
    with store.reading() as connection:
        return filter_values(connection)


def models(store: Store) -> list[KnownModel]:
    """The models that have a history."""
    with store.reading() as connection:
        return known_models(connection)


def run_named(store: Store, name: str) -> KeptRun:
    """A run by its id or the start of it."""
    try:
        return store.find(name)
    except BadOption as error:
        text = str(error)
        raise HTTPException(404, f"Run {name!r} not found." if text.startswith("no run") else f"{text}.") from error


def _in(store: Store, **others: Any) -> dict[str, Any]:
    """Keywords of a public function: it accepts an open store as well as a place."""
    return {"store": store, **others}


def result_of(store: Store, name: str) -> Result[Any]:
    """The result of a run, as right after its measurement."""
    with _readable():
        found: Result[Any] = onnxperf.load_run(name, **_in(store))
        return found


def located(store: Store, run: KeptRun) -> FoundRun:
    """A run with its machine."""
    with store.reading() as connection:
        return with_machines(connection, [run])[0]


def compared(store: Store, first: str, second: str) -> ComparisonResult:
    """Two runs compared through a subject that both measured."""
    one, other = run_named(store, first), run_named(store, second)
    with _readable():
        return onnxperf.compare_runs(one.id, other.id, **_in(store))


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """An unreadable run is neither missing nor a server error: its page shows what is wrong with it."""
    try:
        yield
    except DamagedRun as error:
        raise HTTPException(422, f"{capital(str(error))}.") from error


def history_of(store: Store, model: str, group_by: str, top: int) -> Result[Any]:
    """How the times of a model have changed in the newest runs of each series; 0 means all of them."""
    try:  # requests must never open files
        return onnxperf.history(model, by_label=True, **_in(store, group_by=group_by or None, top=top or None))
    except BadOption as error:
        if str(error).startswith("no race"):
            raise HTTPException(404, f"No race of {name_of(model)} found.") from error
        raise
