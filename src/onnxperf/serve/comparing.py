"""Two runs compared: races and profiles with a verdict, all other kinds side by side, with the settings that differ."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Query, Request
from msgspec.structs import asdict, replace
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

import onnxperf
from onnxperf.records.base import Machine
from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile
from onnxperf.records.race import Bench, Case
from onnxperf.records.runs import BRANCH, COMMIT, DIRTY, KeptRun
from onnxperf.render.kit.markdown import markdown_text, part_markdown
from onnxperf.render.kit.page import Answer, Section, Verbatim
from onnxperf.render.kit.table import Grid, Table, grid_of, plain_table
from onnxperf.render.web.story import Story
from onnxperf.results.base import Result
from onnxperf.serve import queries
from onnxperf.serve.templates import address, page_answer, report_answer, text_answer
from onnxperf.store import Store
from onnxperf.store.search import RunSearch
from onnxperf.wording.names import dims_text, visible

_COMMIT = 8
_MACHINE = ("cpu", "cores", "logical_cpus", "system", "python", "governor", "turbo")
"""Facts about a machine that decide how fast it is; its load is a note of the result."""
_OFFERED = 21
"""Runs offered for a comparison, with the known one."""
_ARROW = " → "

comparing = APIRouter(include_in_schema=False)


class Side(NamedTuple):
    """A run and its result."""

    run: KeptRun
    result: Result[Any]


class Comparison(NamedTuple):
    """Two runs compared."""

    sides: tuple[Side, Side]
    title: str
    story: Story
    settings: Table[Sequence[str]]
    markdown: str


@comparing.get("/compare")
def compare_page(
    request: Request,
    first: queries.RunName = "",
    second: queries.RunName = "",
    run: Annotated[Sequence[str], Query(max_length=2)] = (),
) -> Response:
    """Two runs compared, or a form for their ids."""
    store = queries.store_of(request)
    if len(run) == 2:  # picked in the list; the older one is the first
        older, newer = sorted((queries.run_named(store, each) for each in run), key=lambda each: each.started)
        return RedirectResponse(address("/compare", first=older.id, second=newer.id), 303)
    picked = (first, second or "".join(run[:1]))
    if not all(picked):
        return _form(store, *picked)
    found = compared(store, *picked)
    both = [each.run.id for each in found.sides]
    more = [
        *((name, f"/runs/{name}") for name in both),
        ("Swap", address("/compare", first=both[1], second=both[0])),
        ("Markdown", address("/compare.md", first=both[0], second=both[1])),
    ]
    settings = [Section("Settings that differ", [found.settings])] if found.settings.rows else []
    copied = Section("Markdown to copy", [Verbatim(found.markdown)])
    sections = [*found.story.sections, *settings, copied]
    return report_answer(found.story._replace(sections=sections), found.title, more)


def _form(store: Store, first: str, second: str) -> Response:
    """Two ids to type, and the newest other runs of the same kind and topic as the one that is known."""
    with contextlib.suppress(HTTPException):
        known = queries.run_named(store, first or second)
        alike = RunSearch(kind=known.kind, topic=known.topic)
        found = queries.listed(store, alike, _OFFERED, 0, queries.Sorting("started", "")).runs
        offered = [(each.run, address("/compare", **_in_order(known, each.run))) for each in found]
        others = [(run, link) for run, link in offered if run.id != known.id]
        return _form_page(first, second, known, others)
    return _form_page(first, second)


def _in_order(known: KeptRun, other: KeptRun) -> dict[str, str]:
    """The older run is the first."""
    older, newer = sorted((known, other), key=lambda each: each.started)
    return {"first": older.id, "second": newer.id}


def _form_page(
    first: str, second: str, known: KeptRun | None = None, others: Sequence[tuple[KeptRun, str]] = ()
) -> Response:
    shown: dict[str, Any] = {"first": first, "second": second, "known": known, "others": others}
    return page_answer("compare.html", title="Compare two runs", path="/compare", **shown)


@comparing.get("/compare.md")
def compare_markdown(request: Request, first: queries.RunName, second: queries.RunName) -> Response:
    """The same as Markdown."""
    return text_answer(compared(queries.store_of(request), first, second).markdown)


def is_comparable(run: KeptRun) -> bool:
    """Whether a run has a record to compare."""
    return bool(run.record)


def compared(store: Store, first: str, second: str) -> Comparison:
    """Two runs of a kind compared."""
    before, after = queries.run_named(store, first), queries.run_named(store, second)
    if before.record != after.record:
        kinds = f"{before.kind} and {after.kind}"
        raise HTTPException(400, f"Runs of {kinds} cannot be compared: pick two runs of the same kind.")
    sides = Side(before, queries.result_of(store, before.id)), Side(after, queries.result_of(store, after.id))
    with queries.readable():
        story, text = _JUDGES.get(before.record, _side_by_side)(store, *sides)
    title = title_of(before, after)
    settings = plain_table(["setting", "first", "second"], list(differing(*sides)))
    markdown = _markdown(title, text, settings)
    return Comparison(sides, title, story._replace(topic=title), settings, markdown)


def _races(store: Store, first: Side, second: Side) -> tuple[Story, str]:
    opened: Any = {"store": store}
    result = onnxperf.compare_runs(first.run.id, second.run.id, **opened)
    return result.story(), result.to_markdown()


def _profiles(_store: Store, first: Side, second: Side) -> tuple[Story, str]:
    sides: list[Any] = [_labeled(each) for each in (first, second)]
    result = onnxperf.diff(*sides)
    result.record = replace(result.record, command="")  # the server's own command line, perhaps with its token
    return result.story()._replace(kind="diff"), result.to_markdown()


def _labeled(side: Side) -> Result[Any]:
    """A profile under the name of its model and its commit, so that both sides are told apart."""
    result = copy(side.result)
    place = side.run.tags.get(COMMIT, "")[:_COMMIT] or side.run.id
    result.record = replace(result.record, model=f"{result.record.model} · {place}")
    return result


_Judge = Callable[[Store, Side, Side], tuple[Story, str]]
_JUDGES: Mapping[str, _Judge] = {Bench.__name__: _races, Profile.__name__: _profiles}


def title_of(first: KeptRun, second: KeptRun) -> str:
    """Such as `resnet50.onnx: commit 1a2b3c4d (2026-11-19) against commit 9f8e7d6c (2026-11-12)`."""
    places = [_place(each) for each in (second, first)]
    if places[0] == places[1]:
        places = [f"run {each.id} ({each.started[:10]})" for each in (second, first)]
    models = [each.topic or each.kind for each in (second, first)]
    if models[0] == models[1]:
        return visible(f"{models[0]}: {places[0]} against {places[1]}")
    return visible(f"{models[0]}, {places[0]} against {models[1]}, {places[1]}")


def _place(run: KeptRun) -> str:
    commit = run.tags.get(COMMIT, "")[:_COMMIT]
    changed = " with local changes" if commit and run.tags.get(DIRTY) == "yes" else ""
    return f"{f'commit {commit}' if commit else f'run {run.id}'}{changed} ({run.started[:10]})"


# ---------------------------------------------------------------- settings


def differing(first: Side, second: Side) -> Iterator[tuple[str, str, str]]:
    """Settings with their values in both runs, as far as they differ."""
    ours, theirs = (dict(_settings(each)) for each in (first, second))
    for name in {**ours, **theirs}:
        values = (ours.get(name, ""), theirs.get(name, ""))
        if values[0] != values[1]:
            yield visible(name), visible(values[0] or "–"), visible(values[1] or "–")


def _settings(side: Side) -> Iterator[tuple[str, str]]:
    yield "command", side.run.command
    yield from ((name, side.run.tags.get(name, "")) for name in (COMMIT, BRANCH, DIRTY))
    record = side.result.record
    machine: Machine | None = getattr(record, "machine", None)
    if machine is not None:
        yield from ((name.replace("_", " "), str(getattr(machine, name) or "")) for name in _MACHINE)
        yield from machine.versions.items()
    session = getattr(record, "session", None)
    if isinstance(session, SessionOptions):
        yield from ((name.replace("_", " "), str(value)) for name, value in asdict(session).items())
    for case in getattr(record, "cases", ()):
        if isinstance(case, Case):
            yield from _conditions(case)


def _conditions(case: Case) -> Iterator[tuple[str, str]]:
    """Of subjects, as far as they are alike in a case."""
    place = dims_text(case.dims)
    for name, hashed in case.fingerprint.items():
        yield f"file of {name}", hashed[:12]
    for name in dict.fromkeys(name for each in case.subjects for name in each.conditions):
        values = dict.fromkeys(str(each.conditions[name]) for each in case.subjects if name in each.conditions)
        yield f"{name} ({place})" if place else name, ", ".join(values)


# ---------------------------------------------------------------- kinds without a verdict


def _side_by_side(_store: Store, first: Side, second: Side) -> tuple[Story, str]:
    """Both answers, and the first table of both with both values in each cell."""
    said = [f"{each.run.id}: {' '.join(each.result.answer.split())}" for each in (first, second)]
    note = (
        f"no verdict: there is no test for two runs of {first.run.kind}; values are first{_ARROW}second. "
        "Measure both in one command, or compare their races or profiles."
    )
    tables = [_joined(name, first.result, second.result) for name in first.result.table_names()[:1]]
    shown = [each for each in tables if each.rows]
    sections = [Section("Side by side", shown)] if shown else []
    story = Story(
        kind=first.run.kind, topic="", answers=list(map(Answer, said)), warnings=[note], notes=[], sections=sections
    )
    lines = [*(markdown_text(each) for each in (*said, note)), *(part_markdown(each) for each in shown)]
    return story, "\n\n".join(lines) + "\n"


def _joined(name: str, first: Result[Any], second: Result[Any]) -> Table[Any]:
    """Rows with the same names, both values in each cell that differs."""
    grids = [grid_of(found) for each in (first, second) if isinstance(found := each.columns(name), Table)]
    if len(grids) < 2:
        return plain_table([], [])
    headings = list(dict.fromkeys(column.heading for each in grids for column in each.columns))
    ours, theirs = map(_by_name, grids)
    rows = [
        [_both(*(each.get(key, {}).get(heading, "") for each in (ours, theirs))) for heading in headings]
        for key in dict.fromkeys([*ours, *theirs])
    ]
    return plain_table(headings, rows)


def _by_name(grid: Grid) -> dict[tuple[str, ...], dict[str, str]]:
    """Cells by heading, by the words that name a row and its place among those of the same name."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for line in grid.lines:
        cells = [each.text for each in line.cells]
        words = tuple(text for column, text in zip(grid.columns, cells, strict=True) if column.left)[:1]
        number = sum(key[:-1] == words for key in found)
        found[*words, str(number)] = {column.heading: text for column, text in zip(grid.columns, cells, strict=True)}
    return found


def _both(first: str, second: str) -> str:
    if not first.strip("– ") and not second.strip("– "):
        return ""
    return first if first == second else f"{first or '–'}{_ARROW}{second or '–'}"


def _markdown(title: str, text: str, settings: Table[Sequence[str]]) -> str:
    """Title, answer and tables, then the settings that differ."""
    parts = [f"### {markdown_text(title)}", text.strip()]
    if settings.rows:
        table = part_markdown(settings)
        parts.append(f"<details><summary>Settings that differ</summary>\n\n{table}\n\n</details>")
    return "\n\n".join(parts) + "\n"
