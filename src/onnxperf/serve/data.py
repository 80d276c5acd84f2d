"""The HTTP API: the content of the pages as JSON, with an OpenAPI document that describes each answer."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, FastAPI, Query, Request
from starlette.responses import Response

from onnxperf.records.overview import Overview
from onnxperf.records.runs import RunComparison
from onnxperf.serve import queries
from onnxperf.serve.reference import objects, operations
from onnxperf.serve.templates import json_answer, page_answer
from onnxperf.store.histories import SeriesSearch
from onnxperf.store.search import FoundRuns, KnownModel

MOST_RUNS = 500
_PLACE = "#/components/schemas/{name}"
_RECORD: dict[str, Any] = {"type": "object", "description": "A record; docs/records.md lists its fields by kind."}
_ERROR: dict[str, Any] = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_ANSWERS: tuple[Any, ...] = (FoundRuns, list[KnownModel], RunComparison, Overview)
"""Types of answers that the document describes completely."""

data = APIRouter(prefix="/api")


class _Described(msgspec.Struct):
    """Schemas of all answer types, and of the records in their fields."""

    schemas: tuple[dict[str, Any], ...]
    components: dict[str, Any]


def _described() -> _Described:
    schemas, components = msgspec.json.schema_components(_ANSWERS, ref_template=_PLACE)
    return _Described(schemas, components)


def _holds(kind: Any = None) -> dict[int | str, dict[str, Any]]:
    """The content of an answer, for the document."""
    schema = _RECORD if kind is None else _described().schemas[_ANSWERS.index(kind)]
    errors = {
        404: "Run or model not found.",
        422: "The run's record is damaged, or was written by a newer version.",
        503: "The store cannot be read.",
    }
    return {
        200: {"content": {"application/json": {"schema": schema}}, "description": "The answer."},
        **{
            status: {"content": {"application/json": {"schema": _ERROR}}, "description": words}
            for status, words in errors.items()
        },
    }


@data.get("/runs", responses=_holds(FoundRuns))
def list_runs(
    request: Request,
    wanted: queries.ChosenRuns,
    by: queries.ChosenOrder,
    limit: Annotated[int, Query(ge=1, le=MOST_RUNS, description="Maximum number of runs.")] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9, description="Number of runs to skip.")] = 0,
) -> Response:
    """Runs without their measurements, newest first unless sorted by something else."""
    return json_answer(queries.listed(queries.store_of(request), wanted, limit, offset, by))


@data.get("/overview", responses=_holds(Overview))
def show_overview(request: Request, filters: queries.ChosenFilters) -> Response:
    """The time of every model now, what needs attention, and the latest gates."""
    return json_answer(queries.overview_of(queries.store_of(request), filters))


@data.get("/runs/{run}", responses=_holds())
def show_run(request: Request, run: queries.RunPath) -> Response:
    """The whole record of a run."""
    store = queries.store_of(request)
    return json_answer(queries.result_of(store, queries.run_named(store, run).id).record)


@data.get("/compare", responses=_holds(RunComparison))
def compare_runs(request: Request, first: queries.RunName, second: queries.RunName) -> Response:
    """The second of two races compared with the first, through a subject that both measured."""
    return json_answer(queries.race_comparison(queries.store_of(request), first, second))


@data.get("/history", responses=_holds())
def show_history(
    request: Request,
    model: queries.ModelName,
    filters: queries.ChosenFilters,
    group_by: queries.GroupBy = "",
    top: queries.Newest = 0,
) -> Response:
    """How the times of a model have changed, per machine, with change points."""
    wanted = SeriesSearch(newest=top or None, **filters._asdict())
    return json_answer(queries.history_of(queries.store_of(request), model, wanted, group_by).record)


@data.get("/models", responses=_holds(list[KnownModel]))
def list_models(request: Request) -> Response:
    """The models measured by races in the store."""
    return json_answer(queries.models(queries.store_of(request)))


@data.get("", include_in_schema=False)
def api_page(request: Request) -> Response:
    """The API document as a page."""
    document = request.app.openapi()
    shown: dict[str, Any] = {"operations": operations(document), "objects": objects(document)}
    return page_answer("api.html", title="HTTP API", path="/api", **shown)


def document_of(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document with the schemas of our records."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        parts = document.setdefault("components", {}).setdefault("schemas", {})
        for unused in ("HTTPValidationError", "ValidationError"):
            parts.pop(unused, None)
        parts.update(_described().components)
        for path in document["paths"].values():
            path["get"]["responses"]["400"] = {
                "content": {"application/json": {"schema": _ERROR}},
                "description": "A parameter is wrong.",
            }
        app.openapi_schema = document
    return app.openapi_schema
