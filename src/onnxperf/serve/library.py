"""The chart library, served once: its name has its hash, so that browsers keep it for good."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from onnxperf.render.web.document import asset

_SOURCE = "vendor/echarts.min.js"
_CACHED = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}

library = APIRouter(include_in_schema=False)


@cache
def library_path() -> str:
    """The address of the library."""
    return f"/static/echarts-{hashlib.sha256(_text()).hexdigest()[:16]}.js"


@library.get("/static/{name}")
def script(request: Request, name: str) -> Response:
    """The chart library; nothing else is a file here."""
    if f"/static/{name}" != library_path():
        raise HTTPException(404)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(_packed(), headers={**_CACHED, "content-encoding": "gzip"}, media_type="text/javascript")
    return Response(_text(), headers=_CACHED, media_type="text/javascript")


@cache
def _text() -> bytes:
    return asset(_SOURCE).encode()


@cache
def _packed() -> bytes:
    return gzip.compress(_text(), mtime=0)
