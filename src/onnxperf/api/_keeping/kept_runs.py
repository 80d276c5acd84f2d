"""Runs in the store: kept by commands, and found again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import topic_of
from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.records.race import Bench
from onnxperf.render.kit.complaints import complain
from onnxperf.results.base import Result, result_classes
from onnxperf.results.runs import ComparisonResult
from onnxperf.store import Store, is_missing, open_store, place_of, whole_run

Where = str | Path | None
Opened = Where | Store
"""Also a store that is open already, and stays so."""
T = TypeVar("T")


def keep(
    result: Result[Any], *, store: Where | Literal[False] = None, tags: Mapping[str, str] | None = None
) -> str | None:
    """Keep what was measured; returns the id of the run, or None when `store` is False or nothing can be kept.

    A failing store must not cost the result: it is one line of warning on stderr, and the run waits in the spool.
    """
    if store is False:
        return None
    record = result.record
    several = isinstance(record, Bench) and len(record.cases) > 1
    answer = sweep_answer(sweep_models(record.cases)) if several else " ".join(result.answer.splitlines())
    try:
        with RunWriter(store) as writer:
            topic = topic_of(record)
            return writer.write(*whole_run(record, result.kind, result.status, answer, topic, tags or {}))
    except OnnxperfError as error:
        reason = str(error)
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"
    complain(f"this run was not kept: {reason}")
    return None


def load_result(run: str, *, store: Opened = None) -> Result[Any]:
    """A run from the store, as if it had just been measured; `run` may be the start of an id, or last."""
    name, (record, tags) = _found(run, store, lambda opened, name: (opened.load_record(name), opened.find(name).tags))
    result = result_classes()[type(record)](record)
    result.run, result.tags = name, tags
    return result


def load_bench(run: str, *, store: Opened = None) -> tuple[str, Bench]:
    """The whole id of a run of cases, and its record with all raw blocks."""
    return _found(run, store, Store.load)


def compare(first: str, second: str, *, store: Opened = None) -> ComparisonResult:
    """Compare two runs through a subject that both have."""
    one, before = load_bench(first, store=store)
    other, after = load_bench(second, store=store)
    return ComparisonResult(compare_runs((one, other), before, after))


def delete_run(run: str, *, store: Where = None) -> str:
    """Delete a run; returns its whole id."""
    _refuse_missing(run, store)
    with RunWriter(store) as writer:
        name = writer.opened().find(run).id
        writer.opened().delete(name)
        return name


def _found(run: str, where: Opened, use: Callable[[Store, str], T]) -> tuple[str, T]:
    if isinstance(where, Store):
        name = where.find(run).id
        return name, use(where, name)
    _refuse_missing(run, where)
    with open_store(where, reading=True) as opened:
        name = opened.find(run).id
        return name, use(opened, name)


def _refuse_missing(run: str, where: Where) -> None:
    if is_missing(where):
        raise BadOption(f"no run {run!r}: the store {place_of(where)} does not exist yet")
