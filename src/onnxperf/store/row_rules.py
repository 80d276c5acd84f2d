"""Checks the rows of a run from an untrusted source before a store accepts them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from onnxperf.records.base import Machine
from onnxperf.records.history import TimeOrigin
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.rules import is_time
from onnxperf.store.blobs import unpack_blocks, unpack_times, unpacked_size
from onnxperf.store.documents import from_document, kinds, plain
from onnxperf.store.portable import AttemptRow, CaseRow, RunRow
from onnxperf.store.rows import RunHead

MOST_CASES = 100_000
"""Maximum number of cases in a run; the largest sweeps have some thousands."""
_TIME_OF_DAY = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?:\.\d{1,6})?\+00:00")


class RowRules:
    """Checks each run of a bundle once: duplicates and excessive sizes are rejected.

    As cases, attempts and subjects need unique names or numbers, a small file cannot contain very many.
    """

    def __init__(self, unpacked_bytes: int) -> None:
        self._room_bytes = unpacked_bytes
        self._uids = set[str]()

    def check(self, run: RunRow, cases: Iterable[CaseRow]) -> None:
        """Raise a ValueError or a StoreError for rows that no store may accept."""
        _check_run(run)
        keys = set[str]()
        for case in cases:
            _add(keys, plain(case.key), "case")
            _check_count(keys)
            if not case.attempts:
                raise ValueError(f"the case {case.key[:80]!r} has no attempt")
            numbers = set[int]()
            for attempt in case.attempts:
                _add(numbers, attempt.number, "number of an attempt")
                self._check_attempt(attempt)

    def _check_attempt(self, attempt: AttemptRow) -> None:
        if attempt.uid is not None:
            _add(self._uids, attempt.uid, "attempt")
        _check_times(attempt.started, attempt.finished)
        _check_documents(attempt.machine, attempt.versions)
        if attempt.record is not None:
            from_document(attempt.record, Case)
        positions, names = set[int](), set[str]()
        for subject in attempt.subjects:
            _add(positions, subject.position, "position of a subject")
            _add(names, plain(subject.name), "subject")
            from_document(subject.record, Subject)
            if subject.origin is not None:
                from_document(subject.origin, TimeOrigin)
            self._check_room(subject.blocks)
            self._check_room(subject.call_times)
            unpack_blocks(subject.blocks)
            unpack_times(subject.call_times)

    def _check_room(self, packed: bytes) -> None:
        """Raw times are packed in records, which are packed in the file: a small file can unpack to very much."""
        self._room_bytes -= unpacked_size(packed)
        if self._room_bytes < 0:
            raise ValueError("its raw times would unpack to far more than runs need")


def _add(seen: set[Any], value: object, what: str) -> None:
    if value in seen:
        raise ValueError(f"the {what} {str(value)[:80]!r} occurs twice")
    seen.add(value)


def _check_count(keys: set[str]) -> None:
    if len(keys) > MOST_CASES:
        raise ValueError(f"a run has more than {MOST_CASES} cases")


def _check_run(run: RunRow) -> None:
    keys = set[str]()
    for key in run.keys:
        _add(keys, plain(key), "planned case")
    _check_count(keys)
    _check_times(run.started, run.finished)
    _check_documents(run.machine, run.versions)
    from_document(run.options, dict[str, Any])
    if run.record_type == Bench.__name__:
        from_document(run.record, RunHead)
        if run.machine is None:
            raise ValueError("a race has no machine")
    elif run.record_type in kinds():
        from_document(run.record, kinds()[run.record_type])
    else:
        raise ValueError(f"this onnxperf cannot read a {run.record_type[:80]!r}; use a newer onnxperf")


def _check_times(started: str, finished: str | None) -> None:
    for text in (started, *([] if finished is None else [finished])):
        if not _TIME_OF_DAY.fullmatch(text) or not is_time(text):
            raise ValueError(f"{text[:80]!r} is not a valid time")


def _check_documents(machine: str | None, versions: str) -> None:
    from_document(versions, dict[str, str])
    if machine is not None:
        from_document(machine, Machine)
