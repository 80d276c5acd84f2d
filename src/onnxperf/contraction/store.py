"""Plans for einsum equations that were searched before, in memory and on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import platformdirs
from msgspec import Struct

from onnxperf.records.einsum import EinsumPlan


class Key(Struct, frozen=True, kw_only=True):
    """What a plan holds for."""

    canonical: str
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    opset: int
    portable: bool
    runtime: str
    threads: int
    version: str
    """Of the runtime."""
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
    """Required: what was kept before it was there may be a winner without a verdict, and is searched again."""


in_memory: dict[Key, Kept] = {}
"""Plans that this process read or made."""


def recall(key: Key) -> Kept | None:
    """The plan that was kept for exactly this, if any."""
    if key not in in_memory:
        entry = _read(_file(key))
        if entry is None or entry.key != key:
            return None
        in_memory[key] = Kept(entry.plan, entry.model, entry.unoptimized, entry.decomposed)
    return in_memory[key]


def keep(key: Key, kept: Kept) -> None:
    """Keep a plan; a read-only home is not an error."""
    in_memory[key] = kept
    data = msgspec.msgpack.encode(_Entry(key, *kept))
    with contextlib.suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True)
        # Written aside and moved, so that a reader finds one plan or the other.
        draft = _file(key).with_suffix(f".{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(_file(key))


def all_kept() -> Iterator[tuple[Key, EinsumPlan]]:
    """Everything on disk, and what only memory has."""
    seen = set()
    for file in sorted(_folder().glob("*.plan")) if _folder().is_dir() else []:
        entry = _read(file)
        if entry is not None:
            seen.add(entry.key)
            yield entry.key, entry.plan
    yield from ((key, kept.plan) for key, kept in in_memory.items() if key not in seen)


def _read(file: Path) -> _Entry | None:
    try:
        return msgspec.msgpack.decode(file.read_bytes(), type=_Entry)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _file(key: Key) -> Path:
    return _folder() / f"{hashlib.sha256(msgspec.msgpack.encode(key)).hexdigest()[:32]}.plan"


def _folder() -> Path:
    return platformdirs.user_cache_path("onnxperf") / "einsum"
