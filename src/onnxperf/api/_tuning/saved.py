"""Runs of the store that a tuning goes on with, and the rewritten model that its settings are for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from onnxperf.api._keeping.kept_runs import Where, load_result
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._tuning.request import Aim, starts_alike
from onnxperf.errors import BadOption
from onnxperf.model.opened import OwnFolder
from onnxperf.records.tune import TuneChoice, TuneRow, Tuning
from onnxperf.render.kit.model_files import write_model
from onnxperf.tuning.base import joined
from onnxperf.wording.names import first_of


class RewrittenModel:
    """The model of a winner in a folder of ours, which goes away with the last result that has it."""

    def __init__(self, folder: OwnFolder, path: Path) -> None:
        self._folder = folder
        self._path = path

    def __call__(self, place: Path) -> None:
        """Write the model with its weights; it is parsed here for the first time, after it ran and won."""
        import onnx

        proto = onnx.load(self._path)
        write_model(proto, place, sum(len(each.raw_data) for each in proto.graph.initializer))


def unfinished(run: str, entry: Entry, aim: Aim, note: str, store: Where) -> Tuning:
    """A tuning in the store that can be resumed: of the same model, inputs, start and goal, and not at its end."""
    record = load_result(run, store=store).record
    if not isinstance(record, Tuning):
        raise BadOption("that run is not a tuning", option="resume", value=run)
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    asked = (entry.model.fingerprint, shapes, aim.goal, aim.call)
    known = (record.fingerprint, dict(record.shapes), record.goal, record.call)
    if known != asked or not starts_alike(record.notes, note):
        raise BadOption(
            "that run has another model, other inputs or settings, or another goal", option="resume", value=run
        )
    has_more = not all(row.was_tried for row in record.rows)
    if not record.interrupted and not has_more:
        raise BadOption("that run is complete; run it again without `resume`", option="resume", value=run)
    return record


def resumed_rows(before: Tuning, choices: Sequence[TuneChoice]) -> tuple[dict[str, TuneRow], list[str]]:
    """Rows of a tuning that goes on, each with the choice of this run that has its name; a note names the others.

    The record may come from a stranger: nothing that it says about a choice is carried out. A row whose choice is not
    exactly the one that this run makes of its name was measured in another way, and is dropped.
    """
    rows: dict[str, TuneRow] = {}
    dropped: list[str] = []
    for row in before.rows:
        own = _rebuilt(row.choice.name, choices)
        if own is not None and own == row.choice:
            rows[own.name] = replace(row, choice=own)
        elif row.status != "skipped":
            dropped.append(row.choice.name)
    note = f"dropped from the resumed run, as this run has no such candidates: {first_of(dropped)}"
    return rows, [note] if dropped else []


def _rebuilt(name: str, choices: Sequence[TuneChoice]) -> TuneChoice | None:
    """The choice of this name, or the combination of choices whose names it joins."""
    for number, choice in enumerate(choices):
        if name == choice.name:
            return choice
        rest = name.removeprefix(f"{choice.name}, ")
        if rest != name and (others := _rebuilt(rest, choices[number + 1 :])) is not None:
            return joined([choice, others])
    return None
