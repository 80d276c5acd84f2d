"""Pages from templates, each with a policy that allows only its own style and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlencode

from starlette.responses import HTMLResponse, Response

from onnxperf.render.kit.documents import compact_json
from onnxperf.render.web.document import PageFrame, asset, policy_of, report_page, report_style, templates
from onnxperf.render.web.story import Story
from onnxperf.serve.library import library_path
from onnxperf.wording.machines import cpu_name
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import count, duration, grouped, ratio
from onnxperf.wording.verdicts import faced

_NO_FRAMES = "; frame-ancestors 'none'"
_API = "/api"
RANGES = {"": "all time", "7d": "7 days", "30d": "30 days", "90d": "90 days", "365d": "a year"}
"""Ranges of time that the pages offer."""


def page_answer(template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any) -> Response:
    """A page from a template."""
    style = report_style() + _own("serve.css")
    scripts = [asset("report.js"), _own("serve.js")]
    html = _templates().get_template(template).render(style=style, scripts=scripts, **values)
    return secured(html, policy_of([style], scripts, "'self'"), status, headers)


def secured(html: str, policy: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A page with its policy; other pages must not show it in a frame."""
    return HTMLResponse(html, status, {**(headers or {}), "content-security-policy": policy + _NO_FRAMES})


def report_answer(story: Story, title: str, links: Sequence[tuple[str, str]], facts: Sequence[str] = ()) -> Response:
    """A result as a page, with links to others."""
    site = PageFrame([("Overview", "/"), ("Runs", "/runs"), *links], facts, library_path())
    return secured(*report_page([story], visible(title), site))


def text_answer(text: str) -> Response:
    """Plain text."""
    return Response(text, media_type="text/plain; charset=utf-8")


def json_answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A record, or plain values, as JSON."""
    return Response(compact_json(value), status, dict(headers or {}), "application/json")


def error_answer(path: str, status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
    """The reason for an error: one line of JSON for programs, a page for people."""
    if status == HTTPStatus.SEE_OTHER:
        return Response(status_code=status, headers=dict(headers or {}))
    if path == "/openapi.json" or path.startswith(f"{_API}/"):
        return json_answer({"error": reason}, status, headers)
    words = HTTPStatus(status).phrase
    return page_answer("error.html", status, headers, title=words, number=int(status), reason=reason, path=path)


def address(path: str, **parameters: object) -> str:
    """An address on this server; empty parameters are left out."""
    query = urlencode([(name, str(value)) for name, value in parameters.items() if value], errors="replace")
    return f"{path}?{query}" if query else path


def run_address(run: str) -> str:
    """The address of the report of a run, whatever its name is."""
    return f"/runs/{quote(run, safe='', errors='replace')}"


def moment(time: str) -> str:
    """A time from the store, to the minute; scripts convert it to the reader's time zone."""
    return f"{time[:10]} {time[11:16]} UTC"


@cache
def _own(name: str) -> str:
    return files(__package__).joinpath(f"assets/{name}").read_text(encoding="utf-8")


@cache
def _templates() -> Any:
    found = templates(__package__)
    found.globals["address"] = address
    found.globals["ranges"] = RANGES
    found.filters.update(duration=duration, ratio=ratio, faced=faced, day=lambda time: time[:10])
    found.filters.update(cpu=cpu_name, moment=moment, visible=visible, grouped=grouped, counted=count)
    return found
