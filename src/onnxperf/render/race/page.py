"""A race as a page: its subjects, what their calls are made of, answer and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnxperf.records.base import Machine
from onnxperf.records.race import P90_CALLS, P99_CALLS, Bench, Case, Subject
from onnxperf.records.sweep import rate_unit
from onnxperf.render.kit.machine import cpu_text, thread_texts, used_versions
from onnxperf.render.kit.old_table import Column, Row, Stacking, Table
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.race.instructions import instruction_table
from onnxperf.render.race.split import split_table
from onnxperf.wording.names import dims_text, name_of, with_reasons
from onnxperf.wording.numbers import NOTHING, count, duration, interval, per_second, ratio

STATUS_STYLES = {"ok": "", "differs": "yellow", "skipped": "dim", "pending": "dim", "running": "dim"}
VERDICT_STYLES = {
    "baseline": "bold",
    "faster": "green",
    "slower": "red",
    "equivalent": "dim",
    "undecided": "yellow",
}
_CPU = "CPU: processor time per call, all threads"
_CPU_WITH_PAUSES = "CPU: processor time per call, all threads, pauses included"
_PERCENTILES = {"p90": P90_CALLS, "p99": P99_CALLS}


def bench_page(bench: Bench, notes_on_rows: Sequence[Sequence[str]]) -> list[Part]:
    """Every case with its heading, tables, answer, notes, and the reasons of rows that failed."""
    parts: list[Part] = []
    for case, row_notes in zip(bench.cases, notes_on_rows, strict=True):
        parts += [GAP] if parts else []
        parts.append(Heading(case.model, [dims_text(case.dims), *race_facts(case.subjects, bench.machine)]))
        parts += _tables(case, row_notes)
        parts += closing(case.answer, case.notes, case.interrupted)
        unsaid = [each for each in case.subjects if each.reason and each.reason not in case.answer]
        for status in dict.fromkeys(subject.status for subject in unsaid):
            texts = with_reasons((each.name, each.reason) for each in unsaid if each.status == status)
            parts += [Line(text, STATUS_STYLES.get(status, "red"), indent=2) for text in texts]
    return parts


def race_facts(subjects: Sequence[Subject], machine: Machine) -> list[str]:
    """The processor, the number of threads where it is the same for all, and versions of what was raced."""
    raced = {subject.runtime for subject in subjects}
    versions = machine.versions.items()
    others = [f"{name} {text}" for name, text in versions if name in raced]
    return [cpu_text(machine), *thread_texts(subjects), *used_versions(subjects, machine), *others]


def speedup_text(subject: Subject) -> str:
    """What a race found about a subject that has a speedup."""
    low, high = subject.speedup_low, subject.speedup_high
    within = "" if low is None else f" (95 % interval {interval(low, high)})"
    return f"speedup {ratio(subject.speedup)}{within}, {subject.verdict or 'no verdict'}"


def status_text(subject: Subject) -> str:
    """How a subject ended, and why."""
    return ", ".join(filter(None, [subject.status, subject.reason]))


def _tables(case: Case, row_notes: Sequence[str]) -> list[Part]:
    if not case.subjects:
        return []
    missing = _missing_calls(case.subjects)
    below = [table for table in (split_table(case), instruction_table(case)) if table.rows]
    return [
        race_table(case),
        *(Line(text, "dim") for text in _legends(case.subjects)),
        *([Line(missing, "dim")] if missing else []),
        *below,
        *(Line(note, "dim") for note in row_notes),
    ]


# ---------------------------------------------------------------- the table of subjects

_TEXTS: dict[str, tuple[Column, Callable[[Subject], str]]] = {
    "name": (Column("name", left=True), lambda s: name_of(s.name)),
    "status": (Column("status", left=True), lambda s: s.status),
    "time": (Column("time"), lambda s: duration(s.time_ns)),
    "min": (Column("min"), lambda s: duration(s.min_ns)),
    "median": (Column("p50"), lambda s: _percentile(s, "median")),
    "p90": (Column("p90"), lambda s: _percentile(s, "p90")),
    "p99": (Column("p99"), lambda s: _percentile(s, "p99")),
    "max": (Column("max"), lambda s: duration(s.max_ns)),
    "rate": (Column("items/s"), lambda s: per_second(s.items_per_s)),
    "cpu": (Column("CPU"), lambda s: duration(s.cpu_ns)),
    "load": (Column("load"), lambda s: duration(s.load_ns)),
    "first": (Column("first call", short="first"), lambda s: duration(s.first_call_ns)),
    "speedup": (Column("speedup"), lambda s: ratio(s.speedup)),
    "interval": (Column("95 % interval", short="95 % int."), lambda s: interval(s.speedup_low, s.speedup_high)),
    "verdict": (Column("verdict", left=True), lambda s: s.verdict or NOTHING),
    "standing": (
        Column("status, verdict", left=True, short="  status, verdict"),
        lambda s: "  " + " · ".join(filter(None, [s.status, s.verdict])),
    ),
}
_ABOUT = "~"
_WIDE = 1.15
"""An interval whose ends are further from the percentile than this is marked."""


def _percentile(subject: Subject, name: str) -> str:
    mark = _ABOUT if _is_uncertain(subject, name) else ""
    return f"{mark}{duration(getattr(subject, f'{name}_ns'))}"


def _is_uncertain(subject: Subject, name: str) -> bool:
    value, low, high = (getattr(subject, f"{name}{end}_ns") for end in ("", "_low", "_high"))
    return value is not None and low is not None and (high > _WIDE * value or low * _WIDE < value)


def _is_uncertain_in(subject: Subject) -> bool:
    return any(_is_uncertain(subject, name) for name in ("median", *_PERCENTILES))


_PLACES = {key: place for place, key in enumerate(_TEXTS)}


def _stacking(room: int, *columns: str) -> Stacking:
    return Stacking(tuple(tuple(_PLACES[key] for key in column.split()) for column in columns), room)


_TIMES_IN_THREE = ("name standing", "time rate cpu", "median p90 p99", "min max")
_STACKINGS = (
    _stacking(28, *(key for key in _TEXTS if key != "standing")),
    _stacking(
        28,
        *("name", "status", "time", "median p90", "p99 max", "min", "cpu rate", "load first"),
        *("speedup interval", "verdict"),
    ),
    _stacking(16, *_TIMES_IN_THREE, "load first", "speedup interval"),
    _stacking(0, *_TIMES_IN_THREE, "load first speedup interval"),
)
"""From one line per subject to four."""


def race_table(case: Case) -> Table:
    """The subjects of a case, in as few lines each as the width allows."""
    rows = [Row([text(subject) for _, text in _TEXTS.values()], styles=_styles(subject)) for subject in case.subjects]
    columns = [
        column._replace(heading=rate_unit([case])) if key == "rate" else column for key, (column, _) in _TEXTS.items()
    ]
    return Table(columns, rows, stackings=_STACKINGS)


def _styles(subject: Subject) -> dict[int, str]:
    verdict = VERDICT_STYLES.get(subject.verdict or "", "")
    status = STATUS_STYLES.get(subject.status, "red")
    styles = {"status": status, "interval": "dim", "speedup": verdict, "verdict": verdict}
    styles["standing"] = verdict if subject.status == "ok" else status
    if subject.verdict == "baseline":
        styles["name"] = "bold"
    return {_PLACES[key]: style for key, style in styles.items() if style}


def _legends(subjects: Sequence[Subject]) -> list[str]:
    """Which figures come from which calls, and how CPU time is read."""
    measured = [subject for subject in subjects if subject.blocks]
    with_pauses = any(subject.blocks[0].span_ns is not None for subject in measured)
    cpu = _CPU_WITH_PAUSES if with_pauses else _CPU
    return [*([_legend(measured)] if measured else []), *([cpu] if any(s.cpu_ns for s in measured) else [])]


def _legend(subjects: Sequence[Subject]) -> str:
    uncertain = [f"{_ABOUT}: by more than 15 % uncertain"] if any(map(_is_uncertain_in, subjects)) else []
    return " · ".join(["time: undisturbed time of a call", "p50 to max: single calls", *uncertain])


def _missing_calls(subjects: Sequence[Subject]) -> str:
    """How many calls the percentiles need that have none."""
    texts = []
    for name, needed in _PERCENTILES.items():
        missing = {
            needed - len(subject.call_ns)
            for subject in subjects
            if subject.mean_ns is not None and getattr(subject, f"{name}_ns") is None and len(subject.call_ns) < needed
        }
        if missing:
            most = count(max(missing), "more call")
            texts.append(f"{name}: {most if len(missing) == 1 else f'{min(missing)} to {most}'} needed")
    return " · ".join(texts)
