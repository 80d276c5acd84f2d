"""Cases that are kept one by one as they finish, so that a sweep can be interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from msgspec.structs import replace

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import status_of, topic_of
from onnxperf.errors import BadOption, StoreError
from onnxperf.records.base import Machine, Status
from onnxperf.records.race import Bench, Case
from onnxperf.render.kit.complaints import complain
from onnxperf.store import Store, Trouble

UNFINISHED: frozenset[Status] = frozenset({"pending", "running"})


class CaseRecorder(Protocol):
    """What receives the cases of a sweep while it runs."""

    def plan(self, keys: Sequence[str], machine: Machine) -> None:
        """These cases are to be run."""

    def wanted(self, key: str) -> bool:
        """Whether a case has to be run: it was not finished before."""

    def begin(self, key: str) -> None:
        """A case begins."""

    def finish(self, key: str, case: Case, machine: Machine | None = None) -> None:
        """A case is finished, on that machine if it is another one."""

    def give_up(self, key: str, case: Case) -> None:
        """What ran a case is gone: it waits to be resumed."""

    def result(self, cases: Sequence[Case], machine: Machine) -> Bench | None:
        """The whole run, cases of earlier attempts included; None if only `cases` are known."""


class RunRecorder:
    """Keeps cases in a store; when that fails, the sweep continues without it."""

    def __init__(self, store: Store, command: str, resume: str | None = None, retry: Collection[str] = ()) -> None:
        self._store = store
        self._command = command
        self._resume = resume
        self._retry = frozenset(retry)
        self._statuses: dict[str, Status] = {}
        self._failed = False
        self._lost: list[Case] = []
        self._machine: Machine | None = None
        self.run = ""
        self.notes: list[str] = []

    def plan(self, keys: Sequence[str], machine: Machine) -> None:
        """Begin a run of these cases, or take over the one that is resumed."""
        self._machine = machine
        if self._resume is None:
            self._try(lambda: self._start(keys, machine))
            return
        found = self._store.find(self._resume)
        if found.kind != "sweep":
            raise BadOption(f"run {found.id} is not a sweep (it is a {found.kind}), so it cannot be resumed")
        self.run = found.id
        self._store.resume_run(self.run)
        self._statuses = dict(self._store.cases_of(self.run))
        before = self._store.load(self.run).machine
        if (before.cpu, before.versions) != (machine.cpu, machine.versions):
            self.notes.append(
                f"run {self.run} began on another machine or with other versions; times may not be comparable"
            )
        new = sum(key not in self._statuses for key in keys)
        if new and self._statuses:
            self.notes.append(f"{new} of {len(keys)} cases were not in run {self.run}, and are added to it")

    def _start(self, keys: Sequence[str], machine: Machine) -> None:
        self.run = self._store.start_run(self._command, "sweep", machine, keys=keys)

    def wanted(self, key: str) -> bool:
        """Whether a case was never finished, or is to be tried again."""
        status = self._statuses.get(key, "pending")
        return status in UNFINISHED or status in self._retry

    def begin(self, key: str) -> None:
        """Mark a case as running."""
        self._try(lambda: self._store.mark_running(self.run, key))

    def finish(self, key: str, case: Case, machine: Machine | None = None) -> None:
        """Keep a case for good."""
        trouble = Trouble(reason=case.answer if case.status != "ok" else "")
        for subject in case.subjects:
            if subject.status not in ("ok", "skipped"):
                trouble = Trouble(reason=subject.reason, signal=subject.signal, stderr_tail=subject.stderr)
                break
        self._try(lambda: self._store.keep_case(self.run, key, case, machine or self._machine, trouble))

    def give_up(self, key: str, case: Case) -> None:
        """Keep why an attempt was lost; the case itself is only shown."""
        self._lost.append(case)
        self._try(lambda: self._store.give_up_case(self.run, key, case.answer))

    def result(self, cases: Sequence[Case], machine: Machine) -> Bench | None:
        """Read the run back, whatever attempts it took, and end it; a case that was interrupted is only shown."""
        found: list[Bench] = []
        self._try(lambda: found.append(self._store.load(self.run)))
        if not found:
            return None
        shown = (
            *found[0].cases,
            *self._lost,
            *(each for each in cases if each.interrupted or each.status == "pending"),
        )
        whole = replace(found[0], machine=machine, cases=shown)
        answer, topic = sweep_answer(sweep_models(shown)), topic_of(whole)
        self._try(lambda: self._store.finish_run(self.run, status_of(whole), machine, answer, topic))
        return whole

    def _try(self, step: Callable[[], None]) -> None:
        """What was measured must not be lost to a store that fails, nor to a signal: a step is taken whole."""
        if self._failed:
            return
        try:
            try:
                step()
            except KeyboardInterrupt:
                step()  # its transaction was taken back
                raise
        except StoreError as error:
            self._failed = True
            complain(f"the sweep continues, but is not kept: {error}")
