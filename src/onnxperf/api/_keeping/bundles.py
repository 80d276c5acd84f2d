"""Runs that move between stores: into a bundle, and out of one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.errors import BadInput, BadOption, FileNotWritten
from onnxperf.render.kit.files import check_folder
from onnxperf.store import check_bundle, is_missing, open_bundle, open_store, place_of, write_bundle
from onnxperf.wording.names import visible


class ImportedRuns(NamedTuple):
    """What was taken from a bundle."""

    names: list[str]
    """Runs that the store has now, in the order of the bundle."""
    renamed: dict[str, str]
    """Names that were taken, and those that the store gave instead."""
    there: int
    """Runs that the store had already."""


def export_bundle(runs: Sequence[str], path: str | Path, *, store: Where = None) -> int:
    """Write runs with everything in them to a file that any store can take; all of them, unless some are named."""
    check_folder(path)
    if is_missing(store):
        raise BadOption(f"no run to export: the store {place_of(store)} does not exist yet")
    with open_store(store, reading=True) as opened:
        chosen = [opened.find(run).id for run in runs] if runs else [run.id for run in reversed(opened.runs())]
        real = Path(path).resolve()
        draft = real.with_name(f".onnxperf-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            with draft.open("xb") as file:
                count = write_bundle(file, opened.portable(dict.fromkeys(chosen)))
            draft.replace(real)
        except OSError as error:
            raise FileNotWritten(f"cannot write {visible(str(path))}: {error.strerror or error}") from error
        finally:
            draft.unlink(missing_ok=True)
    return count


def import_bundle(path: str | Path, *, store: Where = None) -> ImportedRuns:
    """Take the runs of a bundle that the store lacks, each whole; nothing if a part of the file is damaged."""
    names, renamed, there = list[str](), dict[str, str](), 0
    try:
        with open_bundle(Path(path)) as runs:
            check_bundle(runs)
            with RunWriter(store) as writer:
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
