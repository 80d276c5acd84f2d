"""Where the time of a model goes, as a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile, Timeline
from onnxperf.render.graph.section import NO_GRAPH, DrawnGraph, graph_part
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.page import GAP, Flow, Heading, Later, Line, Page, Section, closing
from onnxperf.render.profile.charts import (
    first_charts,
    iterations_charts,
    nodes_charts,
    operators_charts,
    sources_charts,
)
from onnxperf.render.profile.groups import timeless_lines
from onnxperf.render.profile.headroom import MOST_ROWS, headroom_sections
from onnxperf.render.profile.tables import costly_nodes_table, costly_sources_table, modules_table
from onnxperf.render.profile.timeline import timeline_charts, timeline_memory_charts
from onnxperf.wording.numbers import count, duration, microseconds, ratio, significant

TOP = 10
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
        Flow(facts, on="page"),
        Flow(_times(profile)),
        Section("Operators", operators_charts(profile)),
        Section("Nodes", _nodes(profile, top)),
        *_details(profile, "Graph", lambda: [_graph(graph)]),
        Section("Original model", _original(profile, top)),
        *_details(profile, "Timeline", lambda: [*timeline_charts(profile, found())] or [_NO_TIMELINE]),
        *_details(profile, "Memory", lambda: timeline_memory_charts(profile, found())),
        Section("First and usual inference", [*iterations_charts(profile), *first_charts(profile)]),
        *headroom_sections(profile, top),
        *closing(profile.answer, profile.notes, profile.interrupted),
    ]


def profile_facts(profile: Profile) -> list[str]:
    """Where and how it was measured."""
    machine = profile.machine
    return [
        *([] if machine is None else [cpu_text(machine)]),
        *session_facts(profile.session),
        *_version(profile),
        *([count(len(profile.launches), "launch", "launches")] if profile.launches else []),
        count(profile.iterations, "iteration"),
    ]


def _version(profile: Profile) -> list[str]:
    """The environment, or the version of onnxruntime here."""
    if profile.session is not None and profile.session.env:
        return [profile.session.env]
    return [] if profile.machine is None else runtime_texts(profile.machine.versions)


def session_facts(session: SessionOptions | None) -> list[str]:
    """Threads, level and provider of a session."""
    if session is None:
        return []
    threads = [] if session.threads is None else [count(session.threads, "thread")]
    provider = [] if session.provider == "cpu" else [session.provider]
    return [*threads, f"level {session.opt_level}", *provider]


def _times(profile: Profile) -> list[str]:
    """Loading, initialization, first and measured inference, and what the profiler costs."""
    runs = profile.run_us
    of_session: dict[str, float | None] = {
        "model loading": profile.loading_us,
        "session initialization": profile.initialization_us,
        "first inference": runs[0] if runs else None,
    }
    parts = [f"{name} {microseconds(us)}" for name, us in of_session.items() if us is not None]
    if len(runs) > 1:
        parts.append(measured_inference(profile))
    calls = {
        "with the profiler": duration(profile.profiled_ns) if profile.profiled_ns else "",
        "without": duration(profile.unprofiled_ns) if profile.unprofiled_ns else "",
        "ratio": ratio(profile.overhead) if profile.overhead else "",
    }
    cost = ", ".join(f"{name} {text}" for name, text in calls.items() if text)
    return [*parts, f"a call {cost}"] if cost else parts


def measured_inference(profile: Profile) -> str:
    """The inference as it was measured, and how it compares with the sum of nodes."""
    run_us, nodes_us = profile.usual_run_us or 0.0, profile.usual_nodes_us
    measured = f"measured inference {microseconds(run_us)}"
    if nodes_us <= 0 or run_us <= 0:
        return measured
    why = "which ran side by side" if profile.nodes_overlap else "interference and time outside nodes"
    mark = "," if profile.nodes_overlap else ":"
    return f"{measured} ({significant(run_us / nodes_us)} times the sum of nodes{mark} {why})"


# ---------------------------------------------------------------- sections


def _nodes(profile: Profile, top: int) -> list[Any]:
    if not profile.nodes:
        return []
    screen = [costly_nodes_table(profile, top, "The most costly nodes")._replace(on="screen")] if top > 0 else []
    return [
        *screen,
        *nodes_charts(profile),
        costly_nodes_table(profile, MOST_ROWS, "Time per node")._replace(on="page"),
    ]


def _original(profile: Profile, top: int) -> list[Any]:
    """Where the time goes in the model as it was written: modules, original nodes, and those that cost nothing."""
    parts: list[Any] = []
    if profile.modules:
        parts += [modules_table(profile, top=top)._replace(on="screen")] if top > 0 else []
        parts += [modules_table(profile, top=MOST_ROWS)._replace(on="page")]
    parts += [costly_sources_table(profile, top)._replace(on="screen")] if top > 0 else []
    parts += sources_charts(profile)
    sources = costly_sources_table(profile, MOST_ROWS)
    parts += [sources._replace(on="page")] if sources.rows else []
    lines = timeless_lines(source.group for source in profile.sources)
    return [*parts, GAP, *map(Line, lines)] if lines else parts


def _graph(graph: Callable[[], DrawnGraph | None] | None) -> Any:
    found = graph() if graph is not None else None
    return NO_GRAPH if found is None else graph_part(found)


def _details(profile: Profile, title: str, make: Callable[[], Sequence[Any]]) -> list[Section]:
    """What only a page has, made only for one: drawings take their time."""
    return [Section(title, Later(make), on="page")] if profile.nodes else []
