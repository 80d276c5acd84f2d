"""Where the time of a model goes, as a page."""

from __future__ import annotations

from onnxperf.records.options import SessionOptions
from onnxperf.records.profile import Profile
from onnxperf.render.kit.machine import cpu_text, runtime_texts
from onnxperf.render.kit.old_table import Table
from onnxperf.render.kit.page import GAP, Flow, Heading, Line, Part, closing
from onnxperf.render.profile.groups import timeless_lines
from onnxperf.render.profile.headroom import headroom_tables
from onnxperf.render.profile.tables import modules_table, nodes_table, operators_table, sources_table
from onnxperf.wording.numbers import count, duration, microseconds, ratio, significant

TOP = 10


def profile_page(profile: Profile, top: int = TOP) -> list[Part]:
    """Heading, session and inferences, time per operator, the most costly nodes, the original model, answer, notes."""
    return [
        Heading(profile.model, profile_facts(profile)),
        Flow(_times(profile)),
        *_tables(profile, top),
        *_without_time(profile),
        *headroom_tables(profile, top),
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
    """Loading, initialisation, first and measured inference, and what the profiler costs."""
    runs = profile.run_us
    of_session: dict[str, float | None] = {
        "model loading": profile.loading_us,
        "session initialisation": profile.initialization_us,
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


def _tables(profile: Profile, top: int) -> list[Table]:
    shown = [operators_table(profile)] if profile.operators else []
    if top > 0:
        shown += [nodes_table(profile, top)] if profile.nodes else []
        shown += [each for each in (modules_table(profile, top), sources_table(profile, top)) if each is not None]
    return shown


def _without_time(profile: Profile) -> list[Part]:
    lines = timeless_lines(source.group for source in profile.sources)
    return [GAP, *map(Line, lines)] if lines else []
