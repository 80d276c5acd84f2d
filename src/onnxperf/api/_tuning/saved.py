"""Files that a tuning leaves, and runs that it goes on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from onnxperf.api._keeping.kept_runs import Where, load_result
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._tuning.request import Aim
from onnxperf.errors import BadOption, FileNotWritten
from onnxperf.records.tune import TuneChoice, TunedSettings, TuneRow, Tuning
from onnxperf.render.kit.files import check_folder, write
from onnxperf.render.kit.model_files import write_model
from onnxperf.tuning.base import joined
from onnxperf.wording.names import first_of


class Places(NamedTuple):
    """Where the winner is saved."""

    settings: Path
    model: Path
    """Beside it, where a rewritten model is part of the winner."""


def check_places(save: str | Path | None) -> Places | None:
    """Where files will be written; a name or a folder that cannot be is refused before anything is measured."""
    if save is None:
        return None
    path = Path(save)
    if path.suffix.lower() != ".json":
        raise BadOption(option="save", value=save, expected="a name that ends with .json")
    check_folder(path)
    return Places(path, path.with_suffix(".onnx"))


def save_settings(record: Tuning, places: Places | None, paths: Mapping[str, Path]) -> Tuning:
    """Write what is proven better; nothing is written for the defaults, or for what is not confirmed."""
    winner = record.winner
    if places is None or winner is None or record.outcome != "tuned":
        missing = [f"{places.settings} was not written: there is no winner"] if places is not None else []
        return replace(record, notes=(*record.notes, *missing))
    saved = TunedSettings(
        model=record.model,
        fingerprint=record.fingerprint,
        dims=record.dims,
        settings=winner.settings,
        call=winner.call or record.call,
        runtime=winner.runtime,
    )
    try:
        if winner.rewrite:
            _write_model(paths[winner.rewrite], places.model)
        write(places.settings, msgspec.json.format(msgspec.json.encode(saved), indent=2) + b"\n")
    except FileNotWritten as error:  # the tuning is not lost
        return replace(record, notes=(*record.notes, str(error)))
    if not winner.rewrite:
        return replace(record, saved=str(places.settings))
    note = f"the settings in {places.settings} are for {places.model}, which is the model with {winner.rewrite} applied"
    return replace(record, saved=str(places.settings), saved_model=str(places.model), notes=(*record.notes, note))


def _write_model(rewritten: Path, place: Path) -> None:
    """Write the model with its weights; it is parsed here for the first time, after it ran and won."""
    import onnx

    proto = onnx.load(rewritten)
    write_model(proto, place, sum(len(each.raw_data) for each in proto.graph.initializer))


def unfinished(run: str, entry: Entry, aim: Aim, store: Where) -> Tuning:
    """A tuning in the store that can be resumed: of the same model, inputs and goal, and not at its end."""
    record = load_result(run, store=store).record
    if not isinstance(record, Tuning):
        raise BadOption("that run is not a tuning", option="resume", value=run)
    shapes = {name: array.shape for name, array in entry.feeds.arrays.items()}
    asked = (entry.model.fingerprint, shapes, aim.goal, aim.call)
    if (record.fingerprint, dict(record.shapes), record.goal, record.call) != asked:
        raise BadOption("that run has another model, other inputs, or another goal", option="resume", value=run)
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
