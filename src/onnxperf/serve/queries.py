"""Store queries for the pages and the API, and the meaning of their failures."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, cast

from fastapi import Depends, Path, Query, Request
from msgspec.structs import replace
from starlette.exceptions import HTTPException

import onnxperf
from onnxperf.api.overview import label_history, overview, since_text
from onnxperf.errors import BadOption, DamagedRun
from onnxperf.records.overview import ModelNow, Overview
from onnxperf.records.runs import KeptRun, RunComparison
from onnxperf.results.base import Result
from onnxperf.store import Store
from onnxperf.store.histories import SeriesSearch
from onnxperf.store.search import (
    SORTS,
    FilterValues,
    FoundRun,
    FoundRuns,
    KnownModel,
    RunSearch,
    filter_values,
    known_models,
    search_runs,
    with_figures,
)
from onnxperf.wording.names import capital, name_of

LONGEST_TEXT = 300
NEWEST = 100
"""Maximum number of runs per series in the overview and in a history: change points rarely need more."""
GROUPS = ("day", "version", "commit", "machine")
"""Groups of a history."""

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
Branch = Annotated[str, Query(max_length=LONGEST_TEXT, description="Only runs of this Git branch.")]
Since = Annotated[
    str,
    Query(max_length=LONGEST_TEXT, description="Only runs since a date such as 2026-11-03, or of the last days: 30d."),
]
Sort = Annotated[
    Literal["", "started", "time", "speedup", "verdict", "machine", "commit", "kind", "model", "status"],
    Query(description="Sort runs by this [default: started]."),
]
Order = Annotated[
    Literal["", "asc", "desc"],
    Query(description="Sort order [default: newest, fastest, largest speedup or best verdict first, else ascending]."),
]
RunName = Annotated[str, Query(max_length=LONGEST_TEXT, description="A run id, the start of one, or last.")]
RunPath = Annotated[str, Path(max_length=LONGEST_TEXT, description="A run id, the start of one, or last.")]
ModelPath = Annotated[str, Path(max_length=LONGEST_TEXT, description="The label of a model.")]
ModelName = Annotated[str, Query(max_length=LONGEST_TEXT, description="The label of a model.")]
Newest = Annotated[int, Query(ge=0, le=10**6, description="Only the newest runs of each series; 0 means all.")]
GroupBy = Annotated[
    str,
    Query(
        max_length=LONGEST_TEXT,
        description="Group points by day, version, commit or machine [default: one point per run].",
    ),
]


class Filters(NamedTuple):
    """Which runs the overview and a history consist of."""

    machine: str
    branch: str
    since: str


class Sorting(NamedTuple):
    """The order of a list of runs."""

    sort: str
    order: str

    @property
    def down(self) -> bool:
        """Whether the largest comes first."""
        return self.order == "desc" if self.order else SORTS[self.sort]

    @property
    def chosen(self) -> dict[str, str]:
        """Parameters of an address, without defaults."""
        return {"sort": "" if self.sort == "started" and not self.order else self.sort, "order": self.order}


def _filters(machine: MachineName = "", branch: Branch = "", since: Since = "") -> Filters:
    return Filters(machine, branch, since)


def _run_search(
    filters: Annotated[Filters, Depends(_filters)],
    q: SearchText = "",
    kind: Kind = "",
    status: StatusName = "",
    tag: Tag = "",
) -> RunSearch:
    return RunSearch(text=q, kind=kind, status=status, tag=tag, **filters._asdict())


def _sorting(sort: Sort = "", order: Order = "") -> Sorting:
    return Sorting(sort or "started", order)


ChosenFilters = Annotated[Filters, Depends(_filters)]
ChosenRuns = Annotated[RunSearch, Depends(_run_search)]
ChosenOrder = Annotated[Sorting, Depends(_sorting)]


def store_of(request: Request) -> Store:
    """The store shown by this server."""
    store: Store = request.app.state.store
    return store


def listed(store: Store, wanted: RunSearch, limit: int, offset: int, by: Sorting) -> FoundRuns:
    """A page of runs."""
    wanted = replace(wanted, since=since_text(wanted.since))
    with store.reading() as connection:
        return search_runs(connection, wanted, limit, offset, by.sort, by.down)


def overview_of(store: Store, filters: Filters) -> Overview:
    """The models, what needs attention, and the latest gates."""
    return overview(store, SeriesSearch(newest=NEWEST, **filters._asdict()))


def model_now(store: Store, model: str) -> ModelNow:
    """The latest case of a model."""
    found = overview(store, SeriesSearch(models=(model,), newest=NEWEST)).models if model else ()
    if not found:
        raise HTTPException(404, f"No race of {name_of(model)} found.")
    return max(found, key=lambda each: each.started)


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
    with readable():
        found: Result[Any] = onnxperf.load_run(name, **_in(store))
        return found


def located(store: Store, run: KeptRun) -> FoundRun:
    """A run with its machine."""
    with store.reading() as connection:
        return with_figures(connection, [run])[0]


def race_comparison(store: Store, first: str, second: str) -> RunComparison:
    """Two races compared through a subject that both measured."""
    one, other = run_named(store, first), run_named(store, second)
    with readable():
        return onnxperf.compare_runs(one.id, other.id, **_in(store)).record


@contextlib.contextmanager
def readable() -> Iterator[None]:
    """An unreadable run is neither missing nor a server error: its page shows what is wrong with it."""
    try:
        yield
    except DamagedRun as error:
        raise HTTPException(422, f"{capital(str(error))}.") from error


def history_of(store: Store, model: str, wanted: SeriesSearch, group_by: str) -> Result[Any]:
    """How the times of a model have changed; requests never open files."""
    if group_by not in ("", *GROUPS):
        raise BadOption.unknown("group", group_by, GROUPS, option="group_by")
    try:
        return label_history(store, model, wanted, cast("Any", group_by or None))
    except BadOption as error:
        if str(error).startswith("no race"):
            raise HTTPException(404, f"No race of {name_of(model)} found.") from error
        raise
