"""Profiles, diffs and optimisations on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from onnxperf.records import Diff, Optimization, Profile, Scalar, SessionOptions
from onnxperf.render.kit.old_console import print_end, print_flow, print_heading, print_sheet
from onnxperf.render.profile.changes import counts_sheet, diff_sheet, group_lines, race_line, sides_sheet
from onnxperf.render.profile.timings import (
    count,
    micros,
    node_sheet,
    operator_sheet,
    outside_share,
    source_sheet,
    timeless,
)
from onnxperf.render.race.console import CPU_DECORATION
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import Marks, duration, marks_for, percent, ratio

SHORT_LIST = 10
"""Lines of a list before the rest becomes a number."""
# For what comes before and for its own share; old Windows consoles have no blocks, though they have µ.
_BARS = ("░█", ".#")


def print_profile(profile: Profile, console: Console, top: int = 10, min_share: float = 0.0) -> None:
    """Heading, session and inferences, time per operator, the most costly nodes, the original model, answer, notes."""
    encoding = console.encoding
    marks = marks_for(encoding)
    print_heading(profile.model, profile_facts(profile), console)
    print_flow(profile_times(profile, marks), console)
    if profile.operators:
        print_sheet("Time per iteration", operator_sheet(profile, marks, _bars_for(encoding), min_share), console)
    if profile.nodes and top > 0:
        print_sheet("The most costly nodes", node_sheet(profile, marks, top, min_share), console)
    sources = source_sheet(profile, marks, top, min_share) if top > 0 else None
    if sources is not None:
        print_sheet("In the original model", sources, console)
    without_time = timeless(source.group for source in profile.sources)
    if without_time:
        console.print()
        for line in without_time:
            console.print(Text(visible(line, encoding)))
    print_end(profile.answer, profile.notes, console)


def print_diff(diff: Diff, console: Console, min_share: float = 0.01) -> None:
    """Both sides and their sums, what the race says, the nodes side by side, answer, notes."""
    marks = marks_for(console.encoding)
    print_heading(f"{name_of(diff.base.model)} against {name_of(diff.opti.model)}", diff_facts(diff), console)
    print_sheet("", sides_sheet(diff, marks), console)
    told = race_line(diff.race, marks) if diff.race is not None else ""
    if told:
        console.print()
        console.print(Text(visible(told, console.encoding)))
    if diff.rows:
        print_sheet("", diff_sheet(diff, marks, min_share), console)
    print_end(diff.answer, diff.notes, console)


def print_optimization(record: Optimization, console: Console, everything: bool = False) -> None:
    """Operators before and after, what became of the nodes, and where the model is; long lists only if asked for."""
    encoding = console.encoding
    print_heading(record.model, optimization_facts(record), console)
    print_sheet("", counts_sheet(record, marks_for(encoding)), console)
    for heading, lines in group_lines(record, None if everything else SHORT_LIST):
        console.print()
        console.print(Text(heading, style="bold"))
        for line in lines:
            text = Text(visible(line, encoding), overflow="fold")
            console.print(Padding(text, (0, 0, 0, 2), expand=False))
    print_end(f"Written to {record.output}." if record.output else "", record.notes, console)


# ---------------------------------------------------------------- facts, for HTML too


def profile_facts(profile: Profile) -> list[str]:
    """Where and how it was measured."""
    machine, facts = profile.machine, []
    if machine is not None:
        facts.append(CPU_DECORATION.sub("", machine.cpu))
    facts += _session_facts(profile.session)
    if machine is not None:
        facts += _runtimes(machine.versions)
    return [*facts, count(profile.iterations, "iteration")]


def profile_times(profile: Profile, marks: Marks) -> list[str]:
    """Loading, initialisation, first and other inferences, what is outside of nodes, and what the profiler costs."""
    runs, others = profile.run_us, profile.run_us[1:]
    texts = [
        ("model loading", micros(profile.loading_us, marks), profile.loading_us is not None),
        ("session initialisation", micros(profile.initialization_us, marks), profile.initialization_us is not None),
        ("first inference", micros(runs[0] if runs else None, marks), bool(runs)),
        ("other inferences", _median_of(others, marks), bool(others)),
        ("outside of nodes", percent(outside_share(profile), marks), outside_share(profile) is not None),
    ]
    parts = [f"{name} {text}" for name, text, known in texts if known]
    calls = {
        "with the profiler": duration(profile.profiled_ns, marks) if profile.profiled_ns else "",
        "without": duration(profile.unprofiled_ns, marks) if profile.unprofiled_ns else "",
        "ratio": ratio(profile.overhead, marks) if profile.overhead else "",
    }
    told = ", ".join(f"{name} {text}" for name, text in calls.items() if text)
    return [*parts, f"a call {told}"] if told else parts


def _median_of(times: Sequence[int], marks: Marks) -> str:
    return f"{micros(median(times), marks)} (median of {len(times):,})" if times else ""


def diff_facts(diff: Diff) -> list[str]:
    """Where both sides were measured, and what their sessions have in common."""
    facts = [set(profile_facts(profile)) for profile in (diff.base, diff.opti)]
    return [fact for fact in profile_facts(diff.base) if fact in facts[1]]


def optimization_facts(record: Optimization) -> list[str]:
    """Level and provider of the session that optimised it, and the version of onnxruntime."""
    return [*_session_facts(record.session), *_runtimes(record.conditions)]


def _session_facts(session: SessionOptions | None) -> list[str]:
    if session is None:
        return []
    threads = [] if session.threads is None else [count(session.threads, "thread")]
    provider = [] if session.provider == "cpu" else [session.provider]
    return [*threads, f"level {session.opt_level}", *provider]


def _runtimes(versions: dict[str, str] | dict[str, Scalar]) -> list[str]:
    return [f"{name} {version}" for name, version in versions.items() if name.startswith("onnxruntime")]


def _bars_for(encoding: str) -> str:
    try:
        _BARS[0].encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return _BARS[1]
    return _BARS[0]
