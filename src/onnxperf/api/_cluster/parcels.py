"""Cases on their way to another machine and back: as data, with the files that they need."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._shared.cells import Cell, Contest, Group, cell_of
from onnxperf.api._shared.racing import memory_for_workers, start_of
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.subjects import Sources, open_models
from onnxperf.cluster.base import Contents, JobLoad
from onnxperf.errors import BadInput, BadOption
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.model_reader import files_of
from onnxperf.measure.packing import PackedTensor, pack_feeds, unpack_feeds
from onnxperf.measure.pool import Pool
from onnxperf.measure.race import Progress
from onnxperf.model.files import read_inputs
from onnxperf.model.opened import Model
from onnxperf.records.base import Machine
from onnxperf.records.options import WorkerLimits
from onnxperf.records.race import Case
from onnxperf.wording.numbers import count


class CaseParcel(Struct, frozen=True, kw_only=True):
    """A case that was not run yet; files are named as in the folder that travels with it."""

    models: dict[str, str]
    """Label -> file."""
    feeds: str
    """File of the given inputs; empty if none were."""
    sources: bytes
    """What the models are raced against: objects of the user, pickled as for any worker; empty if there are none."""
    ranges: dict[str, tuple[float, float]]
    call: str | list[str]
    runtime: str | list[str]
    dims: dict[str, int]
    settings: Settings
    several: bool
    """It is one of several cases, which share processes."""


class CaseAnswer(Struct, frozen=True, kw_only=True):
    """What came of it."""

    machine: Machine
    case: Case | None
    error: str = ""
    """Why there is no case: the request is at fault."""


class TravellingModel(NamedTuple):
    """A model, the name of its file where it arrives, and all of its files."""

    model: Model
    name: str
    files: dict[str, Contents]


class Files:
    """Files that travel, under names that tell their contents; each is read once, however many cases need it."""

    def __init__(self) -> None:
        self._models: dict[int, tuple[Sources, list[TravellingModel]]] = {}
        self._feeds: dict[int, tuple[Mapping[str, Any] | None, tuple[str, dict[str, Contents]]]] = {}

    def models(self, sources: Sources, timeout_s: float | None) -> list[TravellingModel]:
        """The models of a race; they are kept here, as some of their files are ours and go with them."""
        if id(sources) not in self._models:
            found = [travelling(model) for model in open_models(sources, timeout_s)]
            self._models[id(sources)] = (sources, found)  # kept, or another one might get its number
        return self._models[id(sources)][1]

    def feeds(self, given: Mapping[str, Any] | None) -> tuple[str, dict[str, Contents]]:
        """Name and file of given inputs."""
        if id(given) not in self._feeds:
            self._feeds[id(given)] = (given, packed_feeds(given))
        return self._feeds[id(given)][1]


def travelling(model: Model) -> TravellingModel:
    """A model with all of its files."""
    main, *others = files_of(model)
    names = {f"{model.fingerprint}/{each.relative_to(main.parent).as_posix()}": each for each in (main, *others)}
    return TravellingModel(model, next(iter(names)), dict(names))


def packed_feeds(given: Mapping[str, Any] | None) -> tuple[str, dict[str, Contents]]:
    """Name and file of given inputs; paths are read here."""
    if not given:
        return "", {}
    arrays = dict(given) | read_inputs({name: value for name, value in given.items() if isinstance(value, Path)})
    data = msgspec.msgpack.encode(pack_feeds(arrays, elsewhere=True))
    name = f"{hashlib.sha256(data).hexdigest()}/feeds"
    return name, {name: data}


def read_feeds(folder: Path, name: str) -> dict[str, Any] | None:
    """The arrays in such a file."""
    if not name:
        return None
    return unpack_feeds(msgspec.msgpack.decode((folder / name).read_bytes(), type=dict[str, PackedTensor]))


def pack(cell: Cell, files: Files, several: bool) -> JobLoad:
    """A case with all that it needs on another machine."""
    if cell.parts is None:
        raise BadOption("functions are raced on this machine only; leave it out", option="on")
    contest, group = cell.parts
    models = files.models(group.models, cell.settings.limits.timeout)
    feeds, needed = files.feeds(contest.feeds)
    parcel = CaseParcel(
        models={each.model.label: each.name for each in models},
        feeds=feeds,
        sources=_pickled(group.sources),
        ranges=dict(group.ranges),
        call=contest.call if isinstance(contest.call, str) else list(contest.call),
        runtime=contest.runtime if isinstance(contest.runtime, str) else list(contest.runtime),
        dims=cell.dims,
        settings=cell.settings.sized_as(cell.dims),
        several=several,
    )
    needed = {**needed, **{name: file for each in models for name, file in each.files.items()}}
    return JobLoad(f"{__name__}:{run_parcel.__name__}", msgspec.msgpack.encode(parcel), needed)


def _pickled(sources: Mapping[str, Any]) -> bytes:
    if not sources:
        return b""
    try:
        return bytes(cloudpickle.dumps(dict(sources)))
    except Exception as error:
        text = f"{', '.join(sources)} cannot be sent to another machine: {' '.join(str(error).split())}"
        raise BadOption(text, option="against") from error


def run_parcel(payload: bytes, folder: Path, progress: Progress) -> bytes:
    """Run a case on this machine, as a command here would."""
    parcel = msgspec.msgpack.decode(payload, type=CaseParcel)
    models: dict[str, Any] = {label: folder / name for label, name in parcel.models.items()}
    sources = cloudpickle.loads(parcel.sources) if parcel.sources else {}
    contest = Contest(models, sources, parcel.call, parcel.runtime, read_feeds(folder, parcel.feeds))
    cell = cell_of(contest, Group(models, sources, parcel.ranges), parcel.dims, parcel.settings)
    limits = parcel.settings.limits
    machine, case, error = machines.describe_machine(), None, ""
    try:
        start = start_of(limits)
        case = cell.run(progress, _pool(limits).launches if parcel.several else lambda _specs, _options: start)
        case = replace(case, notes=(*case.notes, *_notes_on_machine(machine)))
    except BadInput as refused:
        error = str(refused)
    return msgspec.json.encode(CaseAnswer(machine=machines.after_the_race(machine), case=case, error=error))


@cache
def _pool(limits: WorkerLimits) -> Pool:
    """Processes for all cases that this machine gets; they die with this one."""
    return Pool(start_of(limits), memory_for_workers)


def _notes_on_machine(machine: Machine) -> list[str]:
    notes = [f"measured on a node with {machine.cpu}, {count(machine.cores, 'core')}"]
    with contextlib.suppress(OSError, AttributeError):
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        if priority > 0:
            notes.append(
                f"Ray gave its processes a low priority (niceness {priority}): other programs on the node come first; "
                "start its nodes with RAY_worker_niceness=0"
            )
    return notes
