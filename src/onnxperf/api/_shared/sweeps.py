"""How the cases of a sweep are run, kept one by one, and resumed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._keeping.kept_runs import place_in
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._keeping.tags import checked_tags
from onnxperf.api._shared.cells import Cell, Seen, run_cells, unseen
from onnxperf.caller import caller
from onnxperf.errors import BadOption
from onnxperf.measure.race import Progress
from onnxperf.options.shared import STATUSES
from onnxperf.records.race import Case
from onnxperf.records.sweep import NodeStep
from onnxperf.render.kit.complaints import complain
from onnxperf.render.kit.console import page_group
from onnxperf.results.bench import BenchResult, live_page

_COMMAND = "onnxperf.sweep"


@dataclass(frozen=True)
class Keeping:
    """Where a sweep is saved, under which tags, and which earlier run it resumes."""

    store: bool | str | Path | None = False
    """Where cases are saved: True is the usual place, False nowhere."""
    resume: str | None = None
    retry: Collection[str] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Keeping:
        """What the options of a public function say."""
        return cls(given.get("store", False), given.get("resume"), given.get("retry", ()), given.get("tags") or {})

    @property
    def resumes(self) -> bool:
        """Whether it is about an earlier run."""
        return self.resume is not None or bool(self.retry)

    def check(self) -> None:
        """Refuse what contradicts itself, before anything is measured."""
        checked_tags(self.tags)
        for status in self.retry:
            if status not in STATUSES:
                raise BadOption.unknown("status to retry", status, STATUSES, option="retry")
        if self.retry and self.resume is None:
            raise BadOption("`retry` goes with `resume`: it chooses the cases of that run that are run again")
        if self.resume is not None and self.store is False:
            raise BadOption("`resume` needs the store in which the run was saved")


def run_sweep(
    cells: Sequence[Cell],
    progress: Progress,
    keeping: Keeping,
    place: ClusterPlace | None = None,
    seen: Seen | None = None,
) -> BenchResult:
    """Run cases, and save each as it finishes; they also run if the store fails. `seen` receives each."""
    keeping.check()
    seen = seen or _shown_above(progress)
    if keeping.store is False:
        return BenchResult(run_cells(cells, progress, seen=seen, place=place))
    with RunWriter(place_in(keeping.store)) as writer:
        tags = checked_tags(keeping.tags)
        recorder = RunRecorder(writer, caller().command or _COMMAND, keeping.resume, keeping.retry, tags)
        result = BenchResult(run_cells(cells, progress, recorder, seen, place))
        for note in recorder.notes:
            complain(note)
        result.run = recorder.run
        return result


def _shown_above(progress: Progress) -> Seen:
    """Show cases as they finish, and the nodes at work, in tables above a bar that has room for them."""
    show = getattr(progress, "show", None)
    if show is None:
        return unseen

    def draw(cases: Sequence[Case], steps: Sequence[NodeStep]) -> None:
        show(lambda console: page_group(live_page(cases, steps), console))

    return draw
