"""What pages and the API look up in the store, and what it means when that fails."""

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
        description="Words that all occur in the id, the command, the answer, the topic or a tag.",
    ),
]
Kind = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs of this kind: bench, sweep, profile…")]
StatusName = Annotated[
    str, Query(max_length=LONGEST_TEXT, description="Only runs that ended so: ok, failed, interrupted…")
]
MachineName = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs on this model of processor.")]
Tag = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs with this tag: name=value, or its name.")]
RunName = Annotated[str, Query(max_length=LONGEST_TEXT, description="The id of a run, the start of one, or last.")]
RunPath = Annotated[str, Path(max_length=LONGEST_TEXT, description="The id of a run, the start of one, or last.")]
ModelName = Annotated[str, Query(max_length=LONGEST_TEXT, description="The label of a model.")]
Newest = Annotated[int, Query(ge=0, le=10**6, description="Only the newest runs of each series; 0 means all.")]
GroupBy = Annotated[
    str,
    Query(
        max_length=LONGEST_TEXT,
        description="What the points stand for: day, version, commit or machine. Without it, each is a run.",
    ),
]


def store_of(request: Request) -> Store:
    """The store that this server shows."""
    store: Store = request.app.state.store
    return store


def listed(store: Store, wanted: RunSearch, limit: int, offset: int) -> FoundRuns:
    """A page of runs."""
    with store.reading() as connection:
        return search_runs(connection, wanted, limit, offset)


def choices(store: Store) -> FilterValues:
    """What runs can be filtered by."""
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
        raise HTTPException(404, f"There is no run {name!r}." if text.startswith("no run") else f"{text}.") from error


def _in(store: Store, **others: Any) -> dict[str, Any]:
    """Keywords of a public function: besides a place, it takes a store that is open already."""
    return {"store": store, **others}


def result_of(store: Store, name: str) -> Result[Any]:
    """A run as if it had just been measured."""
    with _readable():
        found: Result[Any] = onnxperf.load_run(name, **_in(store))
        return found


def located(store: Store, run: KeptRun) -> FoundRun:
    """A run with its machine."""
    with store.reading() as connection:
        return with_machines(connection, [run])[0]


def compared(store: Store, first: str, second: str) -> ComparisonResult:
    """Two runs compared through a subject that both have."""
    one, other = run_named(store, first), run_named(store, second)
    with _readable():
        return onnxperf.compare_runs(one.id, other.id, **_in(store))


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """A run that cannot be read is neither missing nor a fault of this server: its page says what is wrong with it."""
    try:
        yield
    except DamagedRun as error:
        raise HTTPException(422, f"{capital(str(error))}.") from error


def history_of(store: Store, model: str, group_by: str, top: int) -> Result[Any]:
    """How the times of a model have changed in the newest runs of each series; 0 means all of them."""
    try:  # no request may open a file
        return onnxperf.history(model, by_label=True, **_in(store, group_by=group_by or None, top=top or None))
    except BadOption as error:
        if str(error).startswith("no race"):
            raise HTTPException(404, f"There is no race of {name_of(model)}.") from error
        raise
