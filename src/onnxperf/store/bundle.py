"""Runs in a zip file that any store can take: a manifest, and JSON lines for every run."""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.errors import BadInput
from onnxperf.limits import free_memory
from onnxperf.records.base import Machine
from onnxperf.records.history import TimeOrigin
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.rules import is_time
from onnxperf.store.blobs import unpack_blocks, unpack_times
from onnxperf.store.documents import from_document, kinds
from onnxperf.store.names import is_name
from onnxperf.store.portable import AttemptRow, CaseRow, RunRow
from onnxperf.store.rows import RunHead

FORMAT = "onnxperf-runs"
VERSION = 1
SUFFIX = ".onnxperf.zip"
_MANIFEST = "manifest.json"
_LONGEST_CAUSE = 300
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MEMBER = re.compile(r"runs/\d{6}\.jsonl")
_LARGEST_MANIFEST = 10_000
_ENCRYPTED = 0x1
_MOST_RUNS = 200_000
_LARGEST_RATIO = 200
_SMALL = 64 * 2**20
"""So much may be packed into a file of any size: records that repeat themselves become very small."""
_LARGEST_LINE = 256 * 2**20
_MEMORY_PER_BYTE = 8
"""A case takes several times the memory of its text while it is read."""
_TIME_OF_DAY = re.compile(r"20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d(?:\.\d{1,6})?\+00:00")


class Manifest(Struct, frozen=True, kw_only=True):
    """What a bundle says about itself."""

    format: str
    version: int
    runs: int
    """How many it holds."""


def write_bundle(file: IO[bytes], runs: Iterable[tuple[RunRow, Iterable[CaseRow]]]) -> int:
    """Write runs, one after the other; returns how many there were."""
    count = 0
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for run, cases in runs:
            count += 1
            with archive.open(f"runs/{count:06}.jsonl", "w", force_zip64=True) as member:
                member.write(msgspec.json.encode(run) + b"\n")
                for case in cases:
                    member.write(msgspec.json.encode(case) + b"\n")
        manifest = Manifest(format=FORMAT, version=VERSION, runs=count)
        archive.writestr(_MANIFEST, msgspec.json.encode(manifest))
    return count


class BundledRun:
    """A run in a bundle, which is read from the file and checked whenever it is asked for."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str) -> None:
        self._path = path
        self._archive = archive
        self._name = name

    def row(self) -> RunRow:
        """The run without its cases; without a name if it has none that could be typed."""
        with _explained(self._path), self._archive.open(self._name) as stream:
            run = msgspec.json.decode(_line(stream), type=RunRow)
            _check_run(run)
            return run if is_name(run.name) else replace(run, name="")

    def __iter__(self) -> Iterator[CaseRow]:
        """Its cases."""
        with _explained(self._path), self._archive.open(self._name) as stream:
            _line(stream)  # the run
            while line := _line(stream):
                case = msgspec.json.decode(line, type=CaseRow)
                for attempt in case.attempts:
                    _check_attempt(attempt)
                yield case


@contextlib.contextmanager
def open_bundle(path: Path) -> Iterator[list[BundledRun]]:
    """The runs of a bundle, which may come from anywhere: whatever is wrong with it is a BadInput of one line."""
    with _explained(path):
        archive = zipfile.ZipFile(path)
    with archive:
        with _explained(path):
            _check_members(path, archive)
        names = sorted(name for name in archive.namelist() if name != _MANIFEST)
        yield [BundledRun(path, archive, name) for name in names]


def check_bundle(runs: Iterable[BundledRun]) -> None:
    """Read everything once, so that nothing is taken from a bundle of which a part is damaged."""
    for run in runs:
        run.row()
        for _ in run:
            pass


def _check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse what is not a bundle, and what would take far more room than the file has, before it is unpacked."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > _MOST_RUNS or len(set(names)) != len(names):
        raise ValueError("it holds too many files, or one of them twice")
    if _MANIFEST not in names or archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
        raise ValueError(f"it has no {_MANIFEST}")
    strange = next((name for name in names if name != _MANIFEST and not _MEMBER.fullmatch(name)), None)
    if strange is not None:
        raise ValueError(f"it holds {strange[:80]!r}, which no bundle has")
    if any(member.compress_type not in _METHODS or member.flag_bits & _ENCRYPTED for member in members):
        raise ValueError("a file in it is encrypted, or compressed in an unusual way")
    total = sum(member.file_size for member in members)
    if total > max(_SMALL, _LARGEST_RATIO * path.stat().st_size):
        raise ValueError(f"it would become {total} bytes, which is far more than runs need")
    manifest = msgspec.json.decode(archive.read(_MANIFEST), type=Manifest)
    if manifest.format != FORMAT:
        raise ValueError(f"its format is {manifest.format[:80]!r}, not {FORMAT!r}")
    if manifest.version > VERSION:
        raise ValueError(
            f"version {manifest.version} of the format, and this onnxperf reads {VERSION}; use a newer one"
        )
    if manifest.runs != len(names) - 1:
        raise ValueError(f"it announces {manifest.runs} runs and holds {len(names) - 1}")


def _line(stream: IO[bytes]) -> bytes:
    """The next line; empty at the end."""
    most = min(_LARGEST_LINE, free_memory().free_bytes // _MEMORY_PER_BYTE)
    line = stream.readline(most + 1)
    if len(line) > most:
        raise ValueError(f"a case of it has more than {most} bytes")
    return line


# ---------------------------------------------------------------- what rows must hold


def _check_run(run: RunRow) -> None:
    _check_times(run.started, run.finished)
    _check_documents(run.machine, run.versions)
    from_document(run.options, dict[str, Any])
    if run.record_type == Bench.__name__:
        from_document(run.record, RunHead)
        if run.machine is None:
            raise ValueError("a race has no machine")
    elif run.record_type in kinds():
        from_document(run.record, kinds()[run.record_type])
    else:
        raise ValueError(f"it holds a {run.record_type[:80]!r}, which this onnxperf cannot read; use a newer one")


def _check_attempt(attempt: AttemptRow) -> None:
    _check_times(attempt.started, attempt.finished)
    _check_documents(attempt.machine, attempt.versions)
    if attempt.record is not None:
        from_document(attempt.record, Case)
    for subject in attempt.subjects:
        from_document(subject.record, Subject)
        if subject.origin is not None:
            from_document(subject.origin, TimeOrigin)
        unpack_blocks(subject.blocks)
        unpack_times(subject.call_times)


def _check_times(started: str, finished: str | None) -> None:
    for text in (started, *([] if finished is None else [finished])):
        if not _TIME_OF_DAY.fullmatch(text) or not is_time(text):
            raise ValueError(f"{text[:80]!r} is not a time of day")


def _check_documents(machine: str | None, versions: str) -> None:
    from_document(versions, dict[str, str])
    if machine is not None:
        from_document(machine, Machine)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Whatever is wrong with the file becomes one line; what the store does meanwhile stays as it is."""
    try:
        yield
    except (FileNotFoundError, BadInput):
        raise
    except Exception as error:  # zipfile, zlib and msgspec raise almost anything for a damaged file
        cause = " ".join(str(error).split())[:_LONGEST_CAUSE] or type(error).__name__
        raise BadInput(f"{path} is not a bundle of runs, or is damaged: {cause}") from error
