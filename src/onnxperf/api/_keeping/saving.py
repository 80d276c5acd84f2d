"""Where the run of a public function is saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from onnxperf.api._keeping.kept_runs import keep, place_in
from onnxperf.api._keeping.tags import run_tags
from onnxperf.caller import caller
from onnxperf.results.base import Result

R = TypeVar("R", bound=Result[Any])


class Saving:
    """A store, and the tags of the repository as it is before the measurement."""

    def __init__(self, store: bool | str | Path | None, tags: Mapping[str, str] | None) -> None:
        self._store = store
        self._tags = {} if store is False else run_tags(dict(tags or {}))

    def saved(self, result: R) -> R:
        """The result, saved unless its cases already were."""
        if self._store is not False and not result.run:
            with caller().finishing():
                result.run = keep(result, store=place_in(self._store), tags=self._tags) or ""
        return result
