"""A whole tuning on one node of a cluster: its request travels there as data, its record and its model come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.api._cluster.cluster_cells import run_one
from onnxperf.api._cluster.parcels import packed_feeds, read_feeds, travelling
from onnxperf.api._cluster.places import ClusterPlace
from onnxperf.api._quantization.samples import stacked
from onnxperf.api._shared.requests import Settings
from onnxperf.api._tuning.request import Aim, TuneRequest
from onnxperf.cluster.base import JobLoad
from onnxperf.errors import BadInput
from onnxperf.measure.race import Progress
from onnxperf.records.tune import Tuning

_REWRITTEN = "rewritten.onnx"


class TuneParcel(Struct, frozen=True, kw_only=True):
    """A tuning that was not run yet; files are named as in the folder that travels with it."""

    label: str
    model: str
    feeds: str
    calibration: str
    settings: Settings
    aim: Aim
    time_s: float
    before: Tuning | None
    """The tuning that goes on."""

    def feeds_in(self, folder: Path) -> dict[str, Any] | None:
        """The given inputs."""
        return read_feeds(folder, self.feeds)

    def calibration_in(self, folder: Path) -> dict[str, Any] | None:
        """The inputs of all calls for calibration."""
        return read_feeds(folder, self.calibration)


class TuneAnswer(Struct, frozen=True, kw_only=True):
    """What came of it."""

    record: Tuning | None = None
    rewritten: bytes = b""
    """The model of the winner, if it is another one."""
    error: str = ""
    """Why there is no record: the request is at fault."""


def tuned_on_node(
    place: ClusterPlace, request: TuneRequest, before: Tuning | None, folder: Path
) -> tuple[Tuning, dict[str, Path]]:
    """The record of a tuning on a node that is free, and the model of the winner in the folder."""
    entry = request.entry
    model = travelling(entry.model)
    given, files = packed_feeds(request.feeds)
    calibration, more = packed_feeds(stacked(request.calls))
    parcel = TuneParcel(
        label=entry.model.label,
        model=model.name,
        feeds=given,
        calibration=calibration,
        settings=request.settings,
        aim=request.aim,
        time_s=request.budget.total_s,
        before=before,
    )
    load = JobLoad(f"{__name__}:run_tuning", msgspec.msgpack.encode(parcel), {**model.files, **files, **more})
    data, node = run_one(place, entry.model.label, load, request.progress)
    answer = msgspec.msgpack.decode(data, type=TuneAnswer)
    if answer.record is None:
        raise BadInput(answer.error)
    cpu = answer.record.machine.cpu if answer.record.machine is not None else ""
    note = f"tuned on the node {node} with {cpu}: the settings are for machines like it"
    record = replace(answer.record, notes=(*answer.record.notes, note))
    if record.winner is None or not answer.rewritten:
        return record, {}
    path = folder / _REWRITTEN
    path.write_bytes(answer.rewritten)
    return record, {record.winner.rewrite: path}


def run_tuning(payload: bytes, folder: Path, progress: Progress) -> bytes:
    """Tune on this machine, as a command here would; nothing is saved here."""
    from onnxperf.api.tune import tuned_here  # which imports this module

    parcel = msgspec.msgpack.decode(payload, type=TuneParcel)
    try:
        record, rewritten = tuned_here(parcel, folder, progress)
        answer = TuneAnswer(record=record, rewritten=rewritten)
    except BadInput as error:
        answer = TuneAnswer(error=str(error))
    return msgspec.msgpack.encode(answer)
