"""Writing to a store from a command: what cannot be written now waits in the spool, and is written first later."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Self

from onnxperf.errors import StoreError
from onnxperf.render.kit.complaints import complain
from onnxperf.store import CaseRow, RunRow, Spool, Store, location, open_store, place_of
from onnxperf.wording.numbers import count

WaitsAs = Literal["result", "step"] | None
"""What a write is while it waits: a result, a step between results, or not worth waiting for."""
REST_S = 30.0
"""After a failure, measuring goes on for so long before the store is retried."""


class RunWriter:
    """The writes of one command, in their order; the first of them opens the store."""

    def __init__(self, where: str | Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._where = where
        self._clock = clock
        self._store: Store | None = None
        self._failure: StoreError | None = None
        self._again_at = 0.0
        self._behind = True
        """Whether something may wait that has to be written first."""
        self._said = False
        url = location(where)
        self._place = place_of(url)
        self._spool = Spool(url, self._place)

    def __enter__(self) -> Self:
        """The writer, which is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()

    def opened(self) -> Store:
        """The store, into which everything that waited for it has been written."""
        if self._store is None:
            self._store = open_store(self._where)
        if self._behind:
            self._flush(self._store)
            self._behind = self._said = False
            self._failure = None
        return self._store

    def write(self, run: RunRow, cases: Sequence[CaseRow] = (), waits_as: WaitsAs = "result") -> str:
        """Write what the store lacks of a run, or let it wait in the spool; returns the name of the run.

        A StoreError means that it could not be kept in either place.
        """
        try:
            if self._failure is not None and self._clock() < self._again_at:
                raise self._failure
            return self.opened().merge(run, cases)
        except StoreError as error:
            if error is not self._failure:
                self._failure, self._again_at, self._behind = error, self._clock() + REST_S, True
            if waits_as is not None:
                self._wait(error, run, cases, waits_as == "result")
            return run.name

    def try_again(self) -> None:
        """Do not spare the store the next try: it is the last one."""
        self._again_at = 0.0

    def _wait(self, error: StoreError, run: RunRow, cases: Sequence[CaseRow], result: bool) -> None:
        try:
            self._spool.add(run, cases, result)
        except StoreError as second:
            raise StoreError(f"{error}; {second}") from second
        if not self._said:
            self._said = True
            complain(f"results wait in {self._spool.folder} until they can be written: {error}")

    def _flush(self, store: Store) -> None:
        flushed = self._spool.flush(store)
        if flushed.refused is not None:
            complain(f"results that wait are not read: {flushed.refused}")
        if flushed.results:
            were = "was" if flushed.results == 1 else "were"
            complain(f"{count(flushed.results, 'result')} that waited {were} written to {self._place}")
        for wanted, name in flushed.names.items():
            complain(f"run {wanted} is called {name} in {self._place}: its name was taken")
        if flushed.damaged:
            first = flushed.damaged[0]
            complain(f"{count(len(flushed.damaged), 'result')} that waited cannot be read; set aside: {first}")
        if flushed.failure is not None:
            raise flushed.failure
