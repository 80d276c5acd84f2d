"""The application: pages and API of one open store, with every failure as one line, behind the guard."""

from __future__ import annotations

from functools import partial
from importlib.metadata import PackageNotFoundError, version

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response

from onnxperf.errors import OnnxperfError, StoreError
from onnxperf.options.spelling import plain_flags
from onnxperf.serve.comparing import comparing
from onnxperf.serve.data import data, document_of
from onnxperf.serve.guard import Guard
from onnxperf.serve.library import library
from onnxperf.serve.model_history import model_history
from onnxperf.serve.pages import pages
from onnxperf.serve.templates import error_answer
from onnxperf.store import Store
from onnxperf.wording.names import capital


def application(store: Store, hosts: frozenset[str] | None = None, token: str = "") -> Guard:
    """The request handler; `hosts` are the accepted names of the server, and an empty token disables the check."""
    app = FastAPI(
        title="onnxperf",
        description="The runs in an onnxperf store; read-only.",
        version=_version(),
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        # No telemetry is sent, whatever OpenTelemetry's variables are set to; older versions ignore this.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.store = store
    for router in (data, pages, comparing, model_history, library):
        app.include_router(router)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.openapi = partial(document_of, app)  # type: ignore[method-assign]
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _misused)
    app.add_exception_handler(OnnxperfError, _failed)
    app.add_exception_handler(Exception, _broken)
    return Guard(app, hosts, token)


def _version() -> str:
    try:
        return version("onnxperf")
    except PackageNotFoundError:
        return "unknown"


def _refused(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    reason = "Page not found." if status == 404 and error.detail == "Not Found" else error.detail  # type: ignore[attr-defined]
    return error_answer(request.url.path, status, reason)


def _misused(request: Request, error: Exception) -> Response:
    wrong = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    name = ".".join(str(part) for part in wrong.get("loc", ())[1:])
    return error_answer(request.url.path, 400, f"{name}: {wrong.get('msg', 'wrong')}")


def _failed(request: Request, error: Exception) -> Response:
    """An unreadable store is a server error; all other failures are about the request."""
    return error_answer(
        request.url.path, 503 if isinstance(error, StoreError) else 400, capital(plain_flags(str(error)))
    )


def _broken(request: Request, _error: Exception) -> Response:
    return error_answer(request.url.path, 500, "This page failed; see the server's terminal for the cause.")
