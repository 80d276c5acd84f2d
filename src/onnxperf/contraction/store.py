"""Plans of earlier searches for einsum equations, in memory and on disk."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import platformdirs
from msgspec import Struct

from onnxperf.drafts import write_aside
from onnxperf.records.einsum import EinsumPlan


class Key(Struct, frozen=True, kw_only=True):
    """What a plan is valid for."""

    canonical: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    opset: int
    portable: bool
    runtime: str
    threads: int
    version: str
    """Version of the runtime."""
    cpu: str


class Kept(NamedTuple):
    """A plan and its graphs."""

    plan: EinsumPlan
    model: bytes
    unoptimized: bytes
    decomposed: bytes = b""


class _Entry(Struct, frozen=True):
    key: Key
    plan: EinsumPlan
    model: bytes
    unoptimized: bytes
    decomposed: bytes
    """Required: older entries may contain a winner without a verdict, and are searched again."""


Stamp = tuple[int, int, int]
"""Changes when a file is replaced or written: its inode, size and time of change."""


class Place(NamedTuple):
    """The file of a plan at some point in time; without a stamp it did not exist."""

    file: Path
    stamp: Stamp | None

    def is_current(self) -> bool:
        """Whether the file is unchanged."""
        return _stamp(self.file) == self.stamp


class _Known(NamedTuple):
    kept: Kept
    place: Place


in_memory: dict[Key, _Known] = {}
"""Plans that this process read or made; ignored if the file was changed or deleted since."""


def recall(key: Key) -> Kept | None:
    """The stored plan for exactly this key, if any."""
    known, now = in_memory.get(key), place(key)
    if known is not None and known.place == now:
        return known.kept
    entry = _read(now.file)
    if entry is None or entry.key != key:
        return None
    in_memory[key] = _Known(Kept(entry.plan, entry.model, entry.unoptimized, entry.decomposed), now)
    return in_memory[key].kept


def keep(key: Key, kept: Kept) -> None:
    """Store a plan; a read-only home is not an error."""
    data = msgspec.msgpack.encode(_Entry(key, *kept))
    with contextlib.suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True)
        write_aside(_file(key), data)
    in_memory[key] = _Known(kept, place(key))


def place(key: Key) -> Place:
    """The current state of a plan's file."""
    file = _file(key)
    return Place(file, _stamp(file))


def all_kept() -> Iterator[tuple[Key, EinsumPlan]]:
    """All plans on disk, and those only in memory because writing failed."""
    seen = set()
    for file in sorted(_folder().glob("*.plan")) if _folder().is_dir() else []:
        entry = _read(file)
        if entry is not None:
            seen.add(entry.key)
            yield entry.key, entry.plan
    for key, known in in_memory.items():
        if key not in seen and known.place == place(key):
            yield key, known.kept.plan


def _stamp(file: Path) -> Stamp | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(file: Path) -> _Entry | None:
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=_Entry)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _file(key: Key) -> Path:
    return _folder() / f"{hashlib.sha256(msgspec.msgpack.encode(key)).hexdigest()[:32]}.plan"


def _folder() -> Path:
    return platformdirs.user_cache_path("onnxperf") / "einsum"
