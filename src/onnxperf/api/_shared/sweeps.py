"""Plans of sweeps, and how their cases are run, kept one by one, and resumed."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from onnxperf.api._shared.cells import Cell, Contest, cells_of, run_cells
from onnxperf.api._shared.kept_runs import Where
from onnxperf.api._shared.requests import CaseKeywords, check_number, names_in, parse
from onnxperf.api._shared.run_recorder import RunRecorder
from onnxperf.api._shared.sources import check_source, load_source
from onnxperf.errors import BadInput, BadOption, StoreError
from onnxperf.frameworks.base import FRAMEWORKS
from onnxperf.measure.plan import DEFAULT_TIME_S
from onnxperf.measure.race import Progress
from onnxperf.records.base import Status
from onnxperf.records.race import Case
from onnxperf.render.kit.complaints import complain
from onnxperf.results.bench import BenchResult
from onnxperf.store import open_store
from onnxperf.wording.names import one_line, shortened
from onnxperf.wording.numbers import size
from onnxperf.zoo import PREFIX

RETRIED: tuple[Status, ...] = ("failed", "oom", "timeout", "crashed", "differs", "skipped")
_LARGEST_PLAN_BYTES = 4 << 20
_LONGEST = 200
"""Characters of a plan in an error."""
_START_S = 1.5
"""Starting a worker, loading and warming up, roughly."""


class PlannedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A model of a plan."""

    path: str
    """A file beside the plan, or zoo:NAME."""
    against: list[str] = []
    """Sources as [NAME=]FILE.py:function, a .keras or .pt2 file, a saved_model folder, or frameworks of a zoo model."""
    dims: dict[str, int | list[int]] = {}
    """Sizes that this model has instead of those of the plan."""


class SweepPlan(Struct, frozen=True, forbid_unknown_fields=True):
    """What a plan file holds."""

    models: list[PlannedModel | str]
    """What is timed."""
    dims: dict[str, int | list[int]] = {}
    """Sizes of dimensions, one or several each: every combination is a case."""
    call: str | list[str] = "run"
    """Ways of calling onnxruntime."""
    runtime: str | list[str] = "ort"
    """What executes the models."""
    options: dict[str, Any] = {}
    """Any keyword of `onnxperf.bench`: threads, time, seed, rtol, timeout, memory_limit…"""


def plan_cells(plan: str | Path | Mapping[str, Any], listed: bool = False) -> list[Cell]:
    """The cases of a plan; if they are only `listed`, nothing that the plan names is imported, built or run."""
    folder = Path()
    if not isinstance(plan, Mapping):
        folder, plan = Path(plan).absolute().parent, _read(Path(plan))
    try:
        parsed = msgspec.convert(dict(plan), SweepPlan)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadOption(f"the plan of the sweep is not valid: {shortened(one_line(error), _LONGEST)}") from error
    if not parsed.models:
        raise BadOption("the plan of the sweep names no models")
    cells: list[Cell] = []
    for model in parsed.models:
        cells += _model_cells(model, parsed, folder, listed)
        check_number(len(cells))
    most = Counter(cell.key for cell in cells).most_common(1)[0]
    if most[1] > 1:
        raise BadOption(f"the plan of the sweep has the case {shortened(most[0], _LONGEST)!r} twice")
    return cells


def run_sweep(
    cells: Sequence[Cell],
    progress: Progress,
    where: Where | Literal[False],
    command: str,
    resume: str | None = None,
    retry: Collection[str] = (),
    seen: Callable[[Sequence[Case]], None] = lambda _cases: None,
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
        return BenchResult(run_cells(cells, progress, seen=seen))
    try:
        opened = open_store(where)
    except StoreError as error:
        if resume is not None:
            raise
        complain(f"the sweep is not kept: {error}")
        return BenchResult(run_cells(cells, progress, seen=seen))
    with opened as store:
        recorder = RunRecorder(store, command, resume, retry)
        result = BenchResult(run_cells(cells, progress, recorder, seen))
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


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_PLAN_BYTES + 1)
        if len(data) > _LARGEST_PLAN_BYTES:
            raise BadInput(f"the plan {str(path)!r} is larger than {size(_LARGEST_PLAN_BYTES)}; divide it")
        return tomllib.loads(data.decode())
    except OSError as error:
        raise BadInput(f"the plan {str(path)!r} cannot be read: {error.strerror}") from error
    except RecursionError as error:
        raise BadInput(f"the plan {str(path)!r} is nested too deeply") from error
    except ValueError as error:  # of TOML, of UTF-8, or a number or a path that Python does not take
        raise BadInput(f"the plan {str(path)!r} is not valid TOML: {one_line(error)}") from error


def _model_cells(model: PlannedModel | str, plan: SweepPlan, folder: Path, listed: bool) -> list[Cell]:
    planned = PlannedModel(model) if isinstance(model, str) else model
    if "dims" in plan.options:
        raise BadOption("they stand in the plan itself, not among its options", option="dims")
    in_zoo = planned.path.startswith(PREFIX)
    source = planned.path if in_zoo else str(folder / planned.path)
    keywords = {**plan.options, "dims": {**plan.dims, **planned.dims}}
    against = sources_of(planned.against, folder, check_source if listed else load_source)
    contest = Contest(source, against, plan.call, plan.runtime, name=planned.path, listed=listed)
    return cells_of(contest, parse(keywords, CaseKeywords))
