"""Where the time of a model goes, as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile, Timeline
from onnxperf.render.graph.section import NO_GRAPH, DrawnGraph, graph_part
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.page import GAP, Flow, Foot, Heading, Later, Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import (
    first_charts,
    iterations_charts,
    nodes_charts,
    operators_charts,
    sources_charts,
)
from onnxperf.render.profile.columns import others_footer
from onnxperf.render.profile.groups import timeless_lines
from onnxperf.render.profile.headroom import MOST_ROWS, has_headroom, headroom_tables, roofline_charts
from onnxperf.render.profile.tables import (
    costly_nodes_table,
    costly_sources_table,
    estimator,
    modules_table,
    operators_table,
)
from onnxperf.render.profile.timeline import timeline_charts, timeline_memory_charts
from onnxperf.wording.numbers import count, duration, microseconds, ratio

TOP = 10
_FIRST = "First and usual inference"
_NO_TIMELINE = Line(
    "This run was saved without its trace, and no inference of it is stored: profile the model again.", "dim"
)


def profile_page(
    profile: Profile,
    top: int = TOP,
    timeline: Callable[[], Timeline | None] | None = None,
    graph: Callable[[], DrawnGraph | None] | None = None,
) -> Page:
    """Where the time goes by operator, node and original node; on a page also over time and below the limits.

    A timeline may be longer than the one of the record, and a graph is not in it.
    """
    found, facts = timeline or (lambda: profile.timeline), profile_facts(profile)
    return [
        Heading(profile.model, facts),
        Flow(_times(profile)),
        *(Section(title, parts, on="screen") for title, parts in _on_screen(profile, top).items()),
        Section("Operators", [each._replace(on="page") for each in operators_charts(profile)]),
        Section("Nodes", Later(lambda: [*nodes_charts(profile), *_nodes(profile)]), on="page"),
        Section("Graph", Later(lambda: [_graph(graph)] if profile.nodes else []), on="page"),
        Section("Original model", Later(lambda: [*sources_charts(profile), *_original(profile)]), on="page"),
        Section("Timeline", Later(lambda: _timeline(profile, found())), on="page"),
        Section("Memory", Later(lambda: timeline_memory_charts(profile, found())), on="page"),
        Section(_FIRST, Later(lambda: [*iterations_charts(profile), *first_charts(profile)]), on="page"),
        Section("Headroom", Later(lambda: [*roofline_charts(profile), *headroom_tables(profile)]), on="page"),
        *answered(profile.answer, profile.notes, profile.interrupted),
        Foot([*measured_facts(profile), f"times: {estimator(profile)}"] if profile.iterations else []),
    ]


def _on_screen(profile: Profile, top: int) -> dict[str, Sequence[Any]]:
    """Each list once: with what could be won, if that was judged."""
    if has_headroom(profile):
        return {"Headroom": headroom_tables(profile, top, with_sources=False), "Original model": _gone(profile)}
    return {
        "Operators": _operators(profile, top),
        "Nodes": _nodes(profile, top),
        "Original model": _original(profile, top),
    }


def profile_facts(profile: Profile) -> list[str]:
    """If it was measured."""
    machine = profile.machine
    return [
        *session_facts(profile.session),
        *_version(profile),
        *([] if machine is None else [cpu_text(machine)]),
    ]


def measured_facts(profile: Profile) -> list[str]:
    """How much was measured."""
    launches = [count(len(profile.launches), "launch", "launches")] if profile.launches else []
    return [*launches, count(profile.iterations, "iteration")]


def _version(profile: Profile) -> list[str]:
    """The environment, or the version of onnxruntime here."""
    if profile.session is not None and profile.session.env:
        return [profile.session.env]
    return [] if profile.machine is None else runtime_texts(profile.machine.versions)


def session_facts(session: SessionOptions | None) -> list[str]:
    """Threads of a session, and level and provider unless they are the usual ones."""
    if session is None:
        return []
    threads = [] if session.threads is None else [count(session.threads, "thread")]
    provider = [] if session.provider == "cpu" else [session.provider]
    level = [] if session.opt_level == "all" else [f"optimization level {session.opt_level}"]
    return [*threads, *level, *provider]


def _times(profile: Profile) -> list[str]:
    """Loading, initialization, first and measured inference, and what the profiler costs."""
    runs = profile.run_us
    of_session: dict[str, float | None] = {
        "loading": profile.loading_us,
        "initialization": profile.initialization_us,
        "first inference": runs[0] if runs else None,
    }
    parts = [f"{name} {microseconds(us)}" for name, us in of_session.items() if us is not None]
    if len(runs) > 1:
        parts.append(measured_inference(profile))
    call = f"a call {duration(profile.unprofiled_ns)}" if profile.unprofiled_ns else ""
    slower = f" ({ratio(profile.overhead)})" if profile.overhead else ""
    profiled = f"with the profiler {duration(profile.profiled_ns)}{slower}" if profile.profiled_ns else ""
    cost = ", ".join(filter(None, [call, profiled]))
    return [*parts, cost] if cost else parts


def measured_inference(profile: Profile) -> str:
    """The inference as it was measured, and how it compares with the sum of nodes."""
    run_us, nodes_us = profile.usual_run_us or 0.0, profile.usual_nodes_us
    measured = f"measured inference {microseconds(run_us)}"
    if nodes_us <= 0 or run_us <= 0:
        return measured
    why = ", which ran side by side" if profile.nodes_overlap else ""
    return f"{measured} ({ratio(run_us / nodes_us)} its nodes{why})"


# ---------------------------------------------------------------- parts


def _operators(profile: Profile, top: int) -> list[Table[Any]]:
    """The most costly operators, and the others together."""
    table = operators_table(profile)
    most = max(top, TOP)
    left = others_footer(table.rows[most:])
    return [table._replace(rows=table.rows[:most], footers=[*left, *table.footers])] if table.rows else []


def _nodes(profile: Profile, top: int | None = None) -> list[Table[Any]]:
    """The most costly nodes, or as many as a page has."""
    if not profile.nodes or top == 0:
        return []
    if top is None:
        return [costly_nodes_table(profile, MOST_ROWS, "Time per node")]
    return [costly_nodes_table(profile, top, "The most costly nodes")]


def _original(profile: Profile, top: int = MOST_ROWS) -> list[Any]:
    """Where the time goes in the model as it was written: modules, original nodes, and those that cost nothing."""
    tables: list[Table[Any]] = [modules_table(profile, top=top), costly_sources_table(profile, top)] if top else []
    return [*(table for table in tables if table.rows), *_gone(profile)]


def _gone(profile: Profile) -> list[Any]:
    lines = timeless_lines(source.group for source in profile.sources)
    return [GAP, *map(Line, lines)] if lines else []


def _graph(graph: Callable[[], DrawnGraph | None] | None) -> Any:
    found = graph() if graph is not None else None
    return NO_GRAPH if found is None else graph_part(found)


def _timeline(profile: Profile, timeline: Timeline | None) -> list[Any]:
    return [*timeline_charts(profile, timeline)] or ([_NO_TIMELINE] if profile.nodes else [])
