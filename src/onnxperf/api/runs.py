"""`onnxperf.runs`: what was measured before; and the ways in which commands keep and find it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from onnxperf.analyze.answers.check import check_answer
from onnxperf.analyze.run_comparison import compare_runs
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.records import Bench, Check, Memory, MemoryLines, Status
from onnxperf.records.runs import RunComparison, RunStatus
from onnxperf.results.runs import RunsResult
from onnxperf.store import Store, is_missing, open_store, place_of

Where = str | Path | None


def runs(limit: int | None = None, *, kind: str | None = None, store: Where = None) -> RunsResult:
    """The runs in the store, the newest first; `kind` chooses bench, sweep, profile, check…"""
    if is_missing(store):
        return RunsResult(())  # nothing was kept yet, and looking makes no file
    with open_store(store) as opened:
        return RunsResult(opened.runs(limit, kind))


def load_record(run: str, *, store: Where = None) -> tuple[str, Struct]:
    """The whole id of a run, and its record; `run` may be the start of an id, or last."""
    return _looked_up(run, store, Store.load_record)


def load_bench(run: str, *, store: Where = None) -> tuple[str, Bench]:
    """The whole id of a run of cases, and its record with all raw blocks."""
    return _looked_up(run, store, Store.load)


def delete_run(run: str, *, store: Where = None) -> str:
    """Forget a run; returns its whole id."""
    return _looked_up(run, store, Store.delete)[0]


def compare(first: str, second: str, *, store: Where = None) -> RunComparison:
    """Compare two runs through a subject that they share, if any."""
    one, ours = load_bench(first, store=store)
    other, theirs = load_bench(second, store=store)
    return compare_runs((one, other), ours, theirs)


def answers(record: Struct) -> list[str]:
    """The result in plain sentences, one per case."""
    if isinstance(record, Bench | Memory):
        return [case.answer for case in record.cases]
    return [check_answer(record) if isinstance(record, Check) else str(getattr(record, "answer", ""))]


def keep(
    record: Struct,
    kind: str,
    *,
    store: Where | Literal[False] = None,
    options: Mapping[str, Any] | None = None,
    started: datetime | None = None,
    command: str = "",
    warn: Callable[[str], None] | None = None,
) -> str | None:
    """Keep what a command measured; returns the id of the run, or None when `store` is False or fails.

    `command` is for records that do not know theirs, and `started` for when it began; both are shown in the list.
    A failing store must not cost anyone the result that he waited for: it is one line of warning on stderr.
    """
    if store is False:
        return None
    found = answers(record)
    try:
        with open_store(store) as opened:
            return opened.keep(
                record,
                kind,
                _status(record),
                answer=found[0] if len(found) == 1 else "",
                options=options,
                started=started,
                command=command,
            )
    except OnnxperfError as error:
        reason = str(error)
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"
    (warn or _to_stderr)(f"this run was not kept: {reason} (--no-store keeps nothing)")
    return None


def _looked_up(run: str, where: Where, look: Callable[[Store, str], Any]) -> tuple[str, Any]:
    if is_missing(where):
        raise BadOption(f"no run {run!r}: nothing was kept yet in the store {place_of(where)}")
    with open_store(where) as opened:
        name = opened.find(run).id
        return name, look(opened, name)


def _to_stderr(message: str) -> None:
    print(f"onnxperf: {message}", file=sys.stderr)


def _status(record: Struct) -> RunStatus:
    if isinstance(record, Check):
        return "ok" if record.equal else "differs"
    if isinstance(record, MemoryLines):
        return _first_fault([record.status])
    if not isinstance(record, Bench | Memory):
        return "ok"
    if any(case.interrupted for case in record.cases):
        return "interrupted"
    return _first_fault(case.status for case in record.cases)


def _first_fault(statuses: Iterable[Status]) -> RunStatus:
    faults: list[Any] = [status for status in statuses if status not in ("ok", "skipped")]
    return faults[0] if faults else "ok"
