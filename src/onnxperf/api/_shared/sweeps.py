"""How the cases of a sweep are run, kept one by one, and resumed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal

from onnxperf.api._shared.cells import Cell, Seen, run_cells, unseen
from onnxperf.api._shared.kept_runs import Where
from onnxperf.api._shared.places import Place
from onnxperf.api._shared.requests import names_in
from onnxperf.api._shared.run_recorder import RunRecorder
from onnxperf.api._shared.sources import load_source
from onnxperf.errors import BadOption, StoreError
from onnxperf.frameworks.base import FRAMEWORKS
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.race import Progress
from onnxperf.records.base import Status
from onnxperf.render.kit.complaints import complain
from onnxperf.results.bench import BenchResult
from onnxperf.store import open_store

RETRIED: tuple[Status, ...] = ("failed", "oom", "timeout", "crashed", "differs", "skipped")
_START_S = 1.5
"""Starting a worker, loading and warming up, roughly."""


def run_sweep(
    cells: Sequence[Cell],
    progress: Progress,
    where: Where | Literal[False],
    command: str,
    resume: str | None = None,
    retry: Collection[str] = (),
    seen: Seen = unseen,
    place: Place | None = None,
) -> BenchResult:
    """Run cases, and keep each as it finishes, unless `where` is False; they also run where the store fails."""
    for status in retry:
        if status not in RETRIED:
            raise BadOption.unknown("status to retry", status, RETRIED, option="retry")
    if retry and resume is None:
        raise BadOption("`retry` goes with `resume`: it chooses the cases of that run that are run again")
    if resume is not None and where is False:
        raise BadOption("`resume` needs the store that the run was kept in")
    if where is False:
        return BenchResult(run_cells(cells, progress, seen=seen, place=place))
    try:
        opened = open_store(where)
    except StoreError as error:
        if resume is not None:
            raise
        complain(f"the sweep is not kept: {error}")
        return BenchResult(run_cells(cells, progress, seen=seen, place=place))
    with opened as store:
        recorder = RunRecorder(store, command, resume, retry)
        result = BenchResult(run_cells(cells, progress, recorder, seen, place))
        for note in recorder.notes:
            complain(note)
        result.run = recorder.run
        return result


def estimate_s(cells: Sequence[Cell]) -> float:
    """Seconds that the cases will take, roughly."""
    return sum((cell.settings.race.time or DEFAULT_TIME_S) + 2 * _START_S for cell in cells)


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
