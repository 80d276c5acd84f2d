"""Runs that move between stores: into a bundle, and out of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.api._keeping.kept_runs import Where, place_in
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.drafts import written_aside
from onnxperf.errors import BadInput, BadOption
from onnxperf.render.kit.files import check_folder, explained
from onnxperf.store import Store, damaged_runs, is_missing, open_bundle, open_store, place_of, write_bundle
from onnxperf.wording.names import visible


class ImportedRuns(NamedTuple):
    """What was taken from a bundle."""

    names: list[str]
    """Runs that the store has now, in the order of the bundle."""
    renamed: dict[str, str]
    """Names that were taken, and those that the store gave instead."""
    there: int
    """Runs that the store had already."""


class ExportedRuns(NamedTuple):
    """What a bundle was given."""

    written: int
    damaged: dict[str, str]
    """Runs that no store could import, which were left out, with the reasons."""


def export_bundle(runs: Sequence[str], path: str | Path, *, store: Where = None) -> ExportedRuns:
    """Write runs with everything in them to a file that any store can take; all of them, unless some are named.

    Damaged runs are left out; if no other is there, nothing is written.
    """
    check_folder(path)
    place = place_in(store)
    if is_missing(place):
        raise BadOption(f"no run to export: the store {place_of(place)} does not exist yet")
    real = Path(path).resolve()
    with open_store(place, reading=True) as opened:
        found = [opened.find(run).id for run in runs] if runs else opened.names()
        with explained(path), written_aside(real) as folder:
            names = list(dict.fromkeys(found))
            damaged = _write_intact(opened, names, folder / real.name)
            if damaged and len(damaged) == len(names):
                name, reason = next(iter(damaged.items()))
                rest = f", and so are all {len(names)}" if len(names) > 1 else ""
                raise BadInput(f"nothing to export: run {name} is damaged ({reason}){rest}")
    return ExportedRuns(len(names) - len(damaged), damaged)


def _write_intact(store: Store, names: Sequence[str], draft: Path) -> dict[str, str]:
    """Write the runs that an import would take, by asking it; returns the others with the reasons."""
    damaged: dict[str, str] = {}
    while True:
        tried = [name for name in names if name not in damaged]
        with draft.open("wb") as file:
            write_bundle(file, store.portable(tried, damaged))
        written = [name for name in tried if name not in damaged]
        found = {written[position]: reason for position, reason in damaged_runs(draft).items()}
        if not found:
            return damaged
        damaged |= found


def import_bundle(path: str | Path, *, store: Where = None) -> ImportedRuns:
    """Take the runs of a bundle that the store lacks, each whole; nothing if a part of the file is damaged."""
    names, renamed, there = list[str](), dict[str, str](), 0
    try:
        with open_bundle(Path(path)) as runs, RunWriter(place_in(store)) as writer:
            for run in runs:
                row = replace(run.row(), owner=None)  # its process runs elsewhere, if at all
                name = writer.opened().add(row, run)
                if name is None:
                    there += 1
                    continue
                names.append(name)
                if name != row.name:
                    renamed[row.name] = name
    except FileNotFoundError as error:
        raise BadInput(f"{visible(str(path))} does not exist") from error
    return ImportedRuns(names, renamed, there)
