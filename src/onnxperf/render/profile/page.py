"""Where the time of a model goes, as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile, Timeline
from onnxperf.render.graph.section import DrawnGraph
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.page import GAP, Amount, Flow, Foot, Heading, Later, Line, Page, Panes, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.profile.charts import first_charts, iterations_charts
from onnxperf.render.profile.columns import others_footer
from onnxperf.render.profile.groups import timeless_lines
from onnxperf.render.profile.headroom import has_headroom, headroom_tables, roofline_chart
from onnxperf.render.profile.tables import (
    costly_nodes_table,
    costly_sources_table,
    estimator,
    modules_table,
    operators_table,
)
from onnxperf.render.profile.timeline import kept_timelines, timelines_charts
from onnxperf.render.profile.where import where_parts
from onnxperf.wording.numbers import count, duration, microseconds, ratio

TOP = 10
_FIRST = "First and usual inference"
_NO_TIMELINE = Line(
    "This run was saved without its trace, and no inference of it is stored: profile the model again.", "dim"
)


def profile_page(
    profile: Profile,
    top: int = TOP,
    timelines: Callable[[], Mapping[str, Timeline]] | None = None,
    graph: Callable[[], DrawnGraph | None] | None = None,
) -> Page:
    """Where the time goes by operator, node and original node; on a page also over time and below the limits.

    There may be more and longer timelines than the one of the record, and a graph is not in it.
    """
    found, facts = timelines or (lambda: kept_timelines(profile)), profile_facts(profile)
    times = Flow(_times(profile))
    return [
        Heading(profile.model, facts),
        times._replace(on="screen"),
        *(Section(title, parts, on="screen") for title, parts in _on_screen(profile, top).items()),
        Section("Where the time goes", Later(lambda: where_parts(profile, graph)), on="page"),
        Section("Timeline", Later(lambda: _timeline(profile, found())), on="page"),
        Section("Headroom", Later(lambda: roofline_chart(profile)), on="page"),
        Section(_FIRST, Later(lambda: [times, *_inferences(profile)]), on="page"),
        *answered(profile.answer, profile.notes, profile.interrupted, amount=_amount(profile)),
        Foot([*measured_facts(profile), f"times: {estimator(profile)}"] if profile.iterations else []),
    ]


def _amount(profile: Profile) -> Amount:
    """An inference as a caller meets it; with the profiler if nothing else is known."""
    if profile.unprofiled_ns:
        return duration(profile.unprofiled_ns), "a call, unprofiled"
    return (microseconds(profile.usual_run_us), "an inference") if profile.usual_run_us else ("", "")


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


def _nodes(profile: Profile, top: int) -> list[Table[Any]]:
    """The most costly nodes."""
    return [costly_nodes_table(profile, top, "The most costly nodes")] if profile.nodes and top else []


def _original(profile: Profile, top: int) -> list[Any]:
    """Where the time goes in the model as it was written: modules, original nodes, and those that cost nothing."""
    tables: list[Table[Any]] = [modules_table(profile, top=top), costly_sources_table(profile, top)] if top else []
    return [*(table for table in tables if table.rows), *_gone(profile)]


def _gone(profile: Profile) -> list[Any]:
    lines = timeless_lines(source.group for source in profile.sources)
    return [GAP, *map(Line, lines)] if lines else []


def _timeline(profile: Profile, timelines: Mapping[str, Timeline]) -> list[Any]:
    return [*timelines_charts(profile, timelines)] or ([_NO_TIMELINE] if profile.nodes else [])


def _inferences(profile: Profile) -> list[Panes]:
    """Every inference, and the first one by operator, side by side."""
    charts = [*iterations_charts(profile), *first_charts(profile)]
    return [Panes(charts)] if charts else []
