"""The pages: the overview of a team, the list of runs, a run, and badges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from onnxperf.records.race import Bench
from onnxperf.records.runs import KeptRun
from onnxperf.serve import queries
from onnxperf.serve.badge import badge_svg
from onnxperf.serve.comparing import is_comparable
from onnxperf.serve.drawing import sparkline
from onnxperf.serve.overview_rows import attention_rows, gate_rows, model_rows
from onnxperf.serve.templates import address, moment, page_answer, report_answer
from onnxperf.store.search import SORTS, FoundRun
from onnxperf.wording.names import visible

PER_PAGE = 50
_FILTERS = ("kind", "status", "machine", "branch", "since", "tag")
STATUS_STYLES = {"ok": "green", "running": "cyan", "differs": "yellow", "interrupted": "yellow"}
VERDICT_STYLES = {"faster": "green", "slower": "red", "undecided": "yellow"}
Refresh = Annotated[Literal["", "60", "300"], Query(description="Seconds until the page is loaded again.")]

pages = APIRouter(include_in_schema=False)


@pages.get("/")
def overview_page(request: Request, chosen: queries.ChosenFilters, refresh: Refresh = "") -> Response:
    """The time of every model now, what needs attention, and the latest gates."""
    store = queries.store_of(request)
    found = queries.overview_of(store, chosen)
    filters = chosen._asdict()
    return page_answer(
        "overview.html",
        title="Overview",
        path="/",
        found=found,
        concerns=list(attention_rows(found.concerns, filters)),
        models=list(model_rows(found.models, filters)),
        gates=list(gate_rows(found.gates)),
        sparkline=sparkline,
        choices=queries.choices(store),
        filters=filters,
        refresh=refresh,
    )


@pages.get("/runs")
def runs_page(
    request: Request,
    wanted: queries.ChosenRuns,
    by: queries.ChosenOrder,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> Response:
    """The runs, newest first unless sorted by something else."""
    store = queries.store_of(request)
    found = queries.listed(store, wanted, PER_PAGE, PER_PAGE * (page - 1), by)
    filters = {"q": wanted.text, **{name: getattr(wanted, name) for name in _FILTERS}}
    return page_answer(
        "runs.html",
        title="Runs",
        path="/runs",
        found=found,
        choices=queries.choices(store),
        filters=filters,
        chosen={**filters, **by.chosen},
        heads=_heads(filters, by),
        page=page,
        first=PER_PAGE * (page - 1) + 1,
        has_more=PER_PAGE * page < found.total,
        topic_of=_topic_of,
        styles=STATUS_STYLES,
        verdicts=VERDICT_STYLES,
    )


def _heads(filters: Mapping[str, str], by: queries.Sorting) -> dict[str, tuple[str, str]]:
    """For each column that sorts: its address, and how it is sorted now."""
    heads = {}
    for name in SORTS:
        state = ("descending" if by.down else "ascending") if name == by.sort else ""
        turned = queries.Sorting(name, ("asc" if by.down else "desc") if state else "")
        if turned.order and turned.down == SORTS[name]:
            turned = turned._replace(order="")
        heads[name] = (address("/runs", **filters, **turned.chosen), state)
    return heads


@pages.get("/runs/{run}")
def run_page(request: Request, run: queries.RunPath) -> Response:
    """The report of a run."""
    store = queries.store_of(request)
    found = queries.run_named(store, run)
    if found.id != run:
        return RedirectResponse(f"/runs/{found.id}", 303)
    is_race = found.record == Bench.__name__
    more = [
        *([("Compare with…", address("/compare", second=found.id))] if is_comparable(found) else []),
        *([("History", address("/history", model=found.topic))] if is_race and _is_one_model(found.topic) else []),
        ("JSON", f"/api/runs/{found.id}"),
    ]
    title = f"{found.id} · {found.kind} {found.topic}".strip()
    facts = _facts(queries.located(store, found))
    return report_answer(queries.result_of(store, found.id).story(), title, more, facts)


@pages.get("/badge/{model:path}.svg")
def badge(request: Request, model: queries.ModelPath) -> Response:
    """The time of a model now, and its trend."""
    now = queries.model_now(queries.store_of(request), model)
    return Response(badge_svg(now), media_type="image/svg+xml")


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
