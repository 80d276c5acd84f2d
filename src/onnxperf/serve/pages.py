"""The pages: the list of runs, a run, two runs compared, the history of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from onnxperf.records.race import Bench
from onnxperf.records.runs import KeptRun
from onnxperf.render.web.document import PageFrame, report_page
from onnxperf.results.base import Result
from onnxperf.serve import looking
from onnxperf.serve.templates import address, moment, page_answer, secured
from onnxperf.store.search import FoundRun, RunSearch
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import grouped

PER_PAGE = 50
NEWEST = 100
"""Maximum number of runs per series shown in a history: pages of thousands are slow, and few need them."""
_WAYS = ("", "day", "version", "commit", "machine")
STATUS_STYLES = {"ok": "green", "running": "cyan", "differs": "yellow", "interrupted": "yellow"}

pages = APIRouter(include_in_schema=False)


@pages.get("/")
def runs_page(
    request: Request,
    q: looking.SearchText = "",
    kind: looking.Kind = "",
    status: looking.StatusName = "",
    machine: looking.MachineName = "",
    tag: looking.Tag = "",
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """The runs, newest first."""
    store = looking.store_of(request)
    wanted = RunSearch(text=q, kind=kind, status=status, machine=machine, tag=tag)
    found = looking.listed(store, wanted, PER_PAGE, PER_PAGE * (page - 1))
    return page_answer(
        "runs.html",
        title="Runs",
        path="/",
        found=found,
        choices=looking.choices(store),
        filters={"q": q, "kind": kind, "status": status, "machine": machine, "tag": tag},
        page=page,
        first=PER_PAGE * (page - 1) + 1,
        has_more=PER_PAGE * page < found.total,
        topic_of=_topic_of,
        styles=STATUS_STYLES,
    )


@pages.get("/runs/{run}")
def run_page(request: Request, run: looking.RunPath) -> Response:
    """The report of a run."""
    store = looking.store_of(request)
    found = looking.run_named(store, run)
    if found.id != run:
        return RedirectResponse(f"/runs/{found.id}", 303)
    is_race = found.record == Bench.__name__
    more = [
        *([("Compare with…", address("/compare", second=found.id))] if is_race else []),
        *([("History", address("/history", model=found.topic))] if is_race and _is_one_model(found.topic) else []),
        ("JSON", f"/api/runs/{found.id}"),
    ]
    title = f"{found.id} · {found.kind} {found.topic}".strip()
    return _report(looking.result_of(store, found.id), title, more, _facts(looking.located(store, found)))


@pages.get("/compare")
def compare_page(
    request: Request,
    first: looking.RunName = "",
    second: looking.RunName = "",
    run: Annotated[Sequence[str], Query(max_length=2)] = (),
) -> Response:
    """Two runs compared, or a form for their ids."""
    if len(run) == 2:  # picked in the list, which is sorted newest first
        return RedirectResponse(address("/compare", first=run[1], second=run[0]), 303)
    picked = (first, second or "".join(run[:1]))
    if not all(picked):
        return page_answer("compare.html", title="Compare two runs", path="/compare", first=picked[0], second=picked[1])
    result = looking.compared(looking.store_of(request), *picked)
    both = (result.record.first, result.record.second)
    more = [*((name, f"/runs/{name}") for name in both), ("Swap", f"/compare?first={both[1]}&second={both[0]}")]
    return _report(result, f"{both[1]} against {both[0]}", more)


@pages.get("/history")
def history_page(
    request: Request, model: looking.ModelName = "", group_by: looking.GroupBy = "", top: looking.Newest = NEWEST
) -> Response:
    """The history of a model, or the list of models that have one."""
    store = looking.store_of(request)
    if not model:
        return page_answer("history.html", title="History", path="/history", models=looking.models(store), ways=_WAYS)
    result = looking.history_of(store, model, group_by, top)

    def link(words: str, way: str, newest: int) -> tuple[str, str]:
        shown = {} if newest == NEWEST else {"top": str(newest)}
        return words, address("/history", model=model, group_by=way, **shown)

    more = [link(f"by {way or 'run'}", way, top) for way in _WAYS if way != group_by]
    other = link("all runs", group_by, 0) if top else link(f"newest {NEWEST}", group_by, NEWEST)
    facts = [f"at most the newest {grouped(top)} runs of each series"] if top else []
    return _report(result, f"history {name_of(model)}", [("History", "/history"), *more, other], facts)


def _report(result: Result[Any], title: str, more: Sequence[tuple[str, str]], facts: Sequence[str] = ()) -> Response:
    site = PageFrame([("Runs", "/"), *more], facts)
    return secured(*report_page([result.story()], visible(title), site))


def _facts(found: FoundRun) -> list[str]:
    """The facts about a run in the list, above its report."""
    run = found.run
    tags = [f"{name}={value}" for name, value in run.tags.items()]
    return [visible(text) for text in (f"run {run.id}", moment(run.started), run.status, found.machine, *tags) if text]


def _is_one_model(topic: str) -> bool:
    return bool(topic) and "," not in topic


def _topic_of(run: KeptRun) -> str:
    """The topic; for a killed run, at least the typed command."""
    words = run.command.removeprefix("onnxperf ").split()[1:]
    return run.topic or next((word for word in words if not word.startswith("-")), "")
