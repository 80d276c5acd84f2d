"""How the cases of a sweep are run, kept one by one, and resumed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._keeping.tags import checked_tags
from onnxperf.api._shared.cells import Cell, Seen, run_cells, unseen
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.records.base import Status
from onnxperf.render.kit.complaints import complain
from onnxperf.results.bench import BenchResult

RETRIED: tuple[Status, ...] = ("failed", "oom", "timeout", "crashed", "differs", "skipped")


@dataclass(frozen=True)
class Keeping:
    """Where a sweep is kept, under which command and tags, and which earlier run it resumes."""

    where: Where | Literal[False]
    """The store; False keeps nothing."""
    command: str
    resume: str | None = None
    retry: Collection[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is measured."""
        checked_tags(self.tags)
        for status in self.retry:
            if status not in RETRIED:
                raise BadOption.unknown("status to retry", status, RETRIED, option="retry")
        if self.retry and self.resume is None:
            raise BadOption("`retry` goes with `resume`: it chooses the cases of that run that are run again")
        if self.resume is not None and self.where is False:
            raise BadOption("`resume` needs the store that the run was kept in")


def run_sweep(
    cells: Sequence[Cell], progress: Progress, keeping: Keeping, seen: Seen = unseen, place: ClusterPlace | None = None
) -> BenchResult:
    """Run cases, and keep each as it finishes; they also run where the store fails."""
    keeping.check()
    if keeping.where is False:
        return BenchResult(run_cells(cells, progress, seen=seen, place=place))
    with RunWriter(keeping.where) as writer:
        tags = checked_tags(keeping.tags)
        recorder = RunRecorder(writer, keeping.command, keeping.resume, keeping.retry, tags)
        result = BenchResult(run_cells(cells, progress, recorder, seen, place))
        for note in recorder.notes:
            complain(note)
        result.run = recorder.run
        return result
