"""How the cases of a sweep are run, kept one by one, and resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._keeping.tags import checked_tags
from onnxperf.api._shared.cells import Cell, Seen, run_cells, unseen
from onnxperf.api._shared.requests import names_in
from onnxperf.api._shared.sources import load_source
from onnxperf.errors import BadOption
from onnxperf.frameworks.base import FRAMEWORKS
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


def sources_of(
    texts: Sequence[str], folder: Path = Path(), load: Callable[[str], object] = load_source
) -> dict[str, Any] | list[str] | None:
    """Sources by name from [NAME=]SOURCE, as `load` takes it, or the names of frameworks."""
    named = [text for text in texts if not set(names_in(text)) <= set(FRAMEWORKS) and _names_source(text, folder)]
    if not named:
        return [name for text in texts for name in names_in(text)] or None
    if len(named) < len(texts):
        raise BadOption("`against`: give either sources or frameworks of a zoo model, not both")
    found: dict[str, Any] = {}
    for text in named:
        name, equals, place = text.partition("=")
        spelled = place if equals else text
        file, colon, function = spelled.rpartition(":")
        located = spelled if colon and not file.endswith(".py") else str(folder / spelled)
        row = name if equals else function if colon else Path(spelled).stem
        if row in found:
            raise BadOption(f"two sources are named {row!r}; give one another name: NAME={spelled}", option="against")
        found[row] = load(located)
    return found


def _names_source(text: str, folder: Path) -> bool:
    """Whether this is a function, a file or a folder, and not a misspelt framework."""
    place = text.rpartition("=")[2]
    return (
        ":" in place
        or "=" in text
        or bool(Path(place).suffix)
        or len(Path(place).parts) > 1
        or (folder / place).is_dir()
    )
