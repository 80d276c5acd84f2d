"""Runs in a zip file that can be imported into any store: a manifest, and JSON lines for every run."""

from __future__ import annotations

import contextlib
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onnxperf.errors import BadInput
from onnxperf.limits import free_memory
from onnxperf.store.names import is_name
from onnxperf.store.portable import CaseRow, RunRow
from onnxperf.store.row_rules import RowRules

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
_SMALL = 16 * 2**20
"""Maximum unpacked size for a file of any size: repetitive records compress to very little."""
_LARGEST_LINE = 256 * 2**20
_MEMORY_PER_BYTE = 8
"""Maximum size of a case, which takes several times the memory of its text while it is read."""


Opener = Callable[[Path], IO[bytes]]


def _open(path: Path) -> IO[bytes]:
    return path.open("rb")


class Manifest(Struct, frozen=True, kw_only=True):
    """The self-description of a bundle."""

    format: str
    version: int
    runs: int
    """The number of runs in it."""


def write_bundle(file: IO[bytes], runs: Iterable[tuple[RunRow, Iterable[CaseRow]]]) -> int:
    """Write runs one after the other; returns their number."""
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
    """A run in a bundle, read from the file on demand."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, name: str, line_bytes: int) -> None:
        self._path = path
        self._archive = archive
        self._name = name
        self._line_bytes = line_bytes

    def row(self) -> RunRow:
        """The run without its cases; its name is empty if it is not a valid name."""
        with _explained(self._path), self._archive.open(self._name) as stream:
            run = msgspec.json.decode(self._line(stream), type=RunRow)
            return run if is_name(run.name) else replace(run, name="")

    def __iter__(self) -> Iterator[CaseRow]:
        """Its cases."""
        with _explained(self._path), self._archive.open(self._name) as stream:
            self._line(stream)  # the run
            while line := self._line(stream):
                yield msgspec.json.decode(line, type=CaseRow)

    def _line(self, stream: IO[bytes]) -> bytes:
        """The next line; empty at the end."""
        line = stream.readline(self._line_bytes + 1)
        if len(line) > self._line_bytes:
            raise ValueError(f"one of its cases has more than {self._line_bytes} bytes")
        return line


@contextlib.contextmanager
def open_bundle(path: Path, opener: Opener = _open) -> Iterator[list[BundledRun]]:
    """The runs of a bundle from any source: any problem with it is a one-line BadInput.

    Everything is read once before the first run is yielded, so that nothing is imported from a damaged bundle.
    """
    with _opened(path, opener) as (runs, check):
        for run in runs:
            check(run)
        yield runs


def damaged_runs(path: Path) -> dict[int, str]:
    """The runs that keep a bundle from being opened, by position, with the reasons."""
    found = {}
    with _opened(path, _open) as (runs, check):
        for position, run in enumerate(runs):
            try:
                check(run)
            except BadInput as error:
                found[position] = _cause(error.__cause__ or error)
    return found


@contextlib.contextmanager
def _opened(path: Path, opener: Opener) -> Iterator[tuple[list[BundledRun], Callable[[BundledRun], None]]]:
    """The runs of a bundle, and the function that checks each of them once."""
    with contextlib.ExitStack() as opened:
        with _explained(path):
            file = opened.enter_context(opener(path))
            size_bytes = os.fstat(file.fileno()).st_size
            archive = opened.enter_context(zipfile.ZipFile(file))
            _check_members(archive, size_bytes)
        # Queried once, as this takes longer than reading a line.
        line_bytes = min(_LARGEST_LINE, free_memory().free_bytes // _MEMORY_PER_BYTE)
        names = sorted(name for name in archive.namelist() if name != _MANIFEST)
        rules = RowRules(max(_SMALL, _LARGEST_RATIO * size_bytes))

        def check(run: BundledRun) -> None:
            with _explained(path):
                rules.check(run.row(), run)

        yield [BundledRun(path, archive, name, line_bytes) for name in names], check


def _check_members(archive: zipfile.ZipFile, size_bytes: int) -> None:
    """Reject files that are not bundles, and those that would unpack to far more than a bundle needs."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(names) > _MOST_RUNS or len(set(names)) != len(names):
        raise ValueError("it contains too many files, or one of them twice")
    if _MANIFEST not in names or archive.getinfo(_MANIFEST).file_size > _LARGEST_MANIFEST:
        raise ValueError(f"it has no {_MANIFEST}")
    strange = next((name for name in names if name != _MANIFEST and not _MEMBER.fullmatch(name)), None)
    if strange is not None:
        raise ValueError(f"it contains {strange[:80]!r}, which does not belong in a bundle")
    if any(member.compress_type not in _METHODS or member.flag_bits & _ENCRYPTED for member in members):
        raise ValueError("a file in it is encrypted, or compressed with an unsupported method")
    total = sum(member.file_size for member in members)
    if total > max(_SMALL, _LARGEST_RATIO * size_bytes):
        raise ValueError(f"it would unpack to {total} bytes, far more than runs need")
    manifest = msgspec.json.decode(archive.read(_MANIFEST), type=Manifest)
    if manifest.format != FORMAT:
        raise ValueError(f"its format is {manifest.format[:80]!r}, not {FORMAT!r}")
    if manifest.version > VERSION:
        raise ValueError(
            f"the format has version {manifest.version}, but this onnxperf reads {VERSION}; use a newer onnxperf"
        )
    if manifest.runs != len(names) - 1:
        raise ValueError(f"it declares {manifest.runs} runs but contains {len(names) - 1}")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn any problem with the file into one line; errors of the store are passed through."""
    try:
        yield
    except (FileNotFoundError, BadInput):
        raise
    except Exception as error:  # zipfile, zlib and msgspec may raise almost any error for a damaged file
        raise BadInput(f"{path} is not a bundle of runs, or is damaged: {_cause(error)}") from error


def _cause(error: BaseException) -> str:
    return " ".join(str(error).removeprefix("damaged: ").split())[:_LONGEST_CAUSE] or type(error).__name__
