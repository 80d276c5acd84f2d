"""Cases that are kept one by one as they finish, so that a sweep can be interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from msgspec.structs import replace

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import status_of, topic_of
from onnxperf.api._keeping.run_writer import RunWriter, WaitsAs
from onnxperf.api._keeping.tags import run_tags
from onnxperf.errors import BadOption, StoreError, masked
from onnxperf.records.base import Machine, Status
from onnxperf.records.race import Bench, Case
from onnxperf.render.kit.complaints import complain
from onnxperf.store import (
    AttemptRow,
    CaseRow,
    RunRow,
    Trouble,
    begun_attempt,
    begun_run,
    ended_run,
    finished_case,
    lost_case,
)

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
    """Keeps cases in a store, or in the spool while that fails; where neither can be written, the sweep continues."""

    def __init__(
        self,
        writer: RunWriter,
        command: str,
        resume: str | None = None,
        retry: Collection[str] = (),
        tags: Mapping[str, str] | None = None,
    ) -> None:
        self._writer = writer
        self._command = masked(command)
        self._resume = resume
        self._retry = frozenset(retry)
        self._tags = tags or {}
        self._statuses: dict[str, Status] = {}
        self._cases: dict[str, Case | None] = {}
        self._attempts: dict[str, AttemptRow] = {}
        self._failed = False
        self._lost: list[Case] = []
        self._machine: Machine | None = None
        self._row: RunRow | None = None
        self.run = ""
        self.notes: list[str] = []

    def plan(self, keys: Sequence[str], machine: Machine) -> None:
        """Begin a run of these cases, or take over the one that is resumed."""
        self._machine = machine
        if self._resume is None:
            bench = Bench(machine=machine, command=self._command, cases=())
            row = begun_run(bench, "sweep", keys, run_tags(self._tags))
            self._try(lambda: self._write(row, waits_as="step"))
            self._row = replace(row, keys=())
        else:
            self._take_over(self._resume, keys, machine)
        self._cases |= {key: None for key in keys if key not in self._cases}

    def _take_over(self, run: str, keys: Sequence[str], machine: Machine) -> None:
        store = self._writer.opened()
        found = store.find(run)
        if found.kind != "sweep":
            raise BadOption(f"run {found.id} is not a sweep (it is a {found.kind}), so it cannot be resumed")
        self.run = found.id
        before = store.load(self.run)
        store.resume_run(self.run)
        if self._tags:
            store.tag_run(self.run, self._tags)
        self._row = store.row_of(self.run)
        self._command = before.command
        self._statuses = dict(store.cases_of(self.run))
        self._cases = {**dict.fromkeys(self._statuses), **store.finished_cases(self.run)}
        if (before.machine.cpu, before.machine.versions) != (machine.cpu, machine.versions):
            self.notes.append(
                f"run {self.run} began on another machine or with other versions; times may not be comparable"
            )
        new = sum(key not in self._statuses for key in keys)
        if new and self._statuses:
            self.notes.append(f"{new} of {len(keys)} cases were not in run {self.run}, and are added to it")

    def wanted(self, key: str) -> bool:
        """Whether a case was never finished, or is to be retried."""
        status = self._statuses.get(key, "pending")
        return status in UNFINISHED or status in self._retry

    def begin(self, key: str) -> None:
        """Mark a case as running; that is not worth waiting for."""
        attempt = self._attempts[key] = begun_attempt()
        case = CaseRow(key=key, status="running", attempts=(attempt,))
        self._try(lambda: self._write(self._row, [case], waits_as=None))

    def finish(self, key: str, case: Case, machine: Machine | None = None) -> None:
        """Keep a case for good."""
        trouble = Trouble(reason=case.answer if case.status != "ok" else "")
        for subject in case.subjects:
            if subject.status not in ("ok", "skipped"):
                trouble = Trouble(reason=subject.reason, signal=subject.signal, stderr_tail=subject.stderr)
                break
        self._cases[key] = case
        attempt = self._attempts.pop(key, None) or begun_attempt()

        def keep() -> None:
            self._write(self._row, [finished_case(key, case, machine or self._machine, trouble, attempt=attempt)])

        self._try(keep)

    def give_up(self, key: str, case: Case) -> None:
        """Keep why an attempt was lost; the case itself is only shown."""
        self._lost.append(case)
        attempt = self._attempts.pop(key, None) or begun_attempt()
        self._try(lambda: self._write(self._row, [lost_case(key, case.answer, attempt)], waits_as="step"))

    def result(self, cases: Sequence[Case], machine: Machine) -> Bench | None:
        """The whole run, whatever attempts it took, which ends here; what was not finished is only shown."""
        unfinished = tuple(each for each in cases if each.interrupted or each.status == "pending")
        known = tuple(case for case in self._cases.values() if case is not None)
        whole = Bench(machine=machine, command=self._command, cases=(*known, *self._lost, *unfinished))
        answer, topic = sweep_answer(sweep_models(whole.cases)), topic_of(whole)
        if self._row is not None:
            ended = ended_run(self._row, status_of(whole), answer, topic, machine)
            self._writer.try_again()
            self._try(lambda: self._write(ended, waits_as="step"))
        return whole

    def _write(self, row: RunRow | None, cases: Sequence[CaseRow] = (), waits_as: WaitsAs = "result") -> None:
        if row is not None:
            self.run = self._writer.write(row, cases, waits_as)

    def _try(self, step: Callable[[], None]) -> None:
        """What was measured must not be lost to a store that fails, nor to a signal: a step is taken whole."""
        if self._failed:
            return
        try:
            try:
                step()
            except KeyboardInterrupt:
                step()  # its transaction was taken back, or is not repeated
                raise
        except StoreError as error:
            self._failed = True
            complain(f"the sweep continues, but is not saved: {error}")
