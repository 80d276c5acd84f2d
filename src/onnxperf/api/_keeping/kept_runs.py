"""Runs in the store: kept by commands, and found again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import topic_of
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.records.race import Bench
from onnxperf.render.kit.complaints import complain
from onnxperf.results.base import Result, result_classes
from onnxperf.store import Store, is_missing, open_store, place_of, whole_run

Where = bool | str | Path | None
"""True, or None, is the usual store."""
Opened = Where | Store
"""Also a store that is open already, and stays so."""
T = TypeVar("T")


def place_in(store: Where) -> str | Path | None:
    """A store as rooms below know it: None is the usual one."""
    return None if isinstance(store, bool) else store


def keep(result: Result[Any], *, store: Where = None, tags: Mapping[str, str] | None = None) -> str | None:
    """Save a result; returns the id of the run, or None when `store` is False or nothing can be kept.

    A failing store must not cost the result: it is one line of warning on stderr, and the run waits in the spool.
    """
    if store is False:
        return None
    record = result.record
    several = isinstance(record, Bench) and len(record.cases) > 1
    answer = sweep_answer(sweep_models(record.cases)) if several else " ".join(result.answer.splitlines())
    try:
        with RunWriter(place_in(store)) as writer:
            topic = topic_of(record)
            return writer.write(*whole_run(record, result.kind, result.status, answer, topic, tags or {}))
    except OnnxperfError as error:
        reason = str(error)
    except Exception as error:
        reason = f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"
    complain(f"this run was not saved: {reason}")
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


def refuse_missing(run: str, store: Where) -> None:
    """Refuse a run of a store that is not there: looking makes no file."""
    if is_missing(place_in(store)):
        raise BadOption(f"no run {run!r}: the store {place_of(place_in(store))} does not exist yet")


@contextmanager
def reading(store: Opened) -> Iterator[Store]:
    """A store that is read; one that is open already stays so."""
    if isinstance(store, Store):
        yield store
        return
    with open_store(place_in(store), reading=True) as opened:
        yield opened


def _found(run: str, store: Opened, use: Callable[[Store, str], T]) -> tuple[str, T]:
    if not isinstance(store, Store):
        refuse_missing(run, store)
    with reading(store) as opened:
        name = opened.find(run).id
        return name, use(opened, name)
