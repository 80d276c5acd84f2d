"""The noise of this machine, measured by the doctor and remembered for later races."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct


class Noise(Struct, frozen=True, kw_only=True):
    """What an A/A race of the doctor found."""

    machine: str
    band: float
    """Relative difference below which two equal subjects cannot be told apart."""
    date: str


def remember(band: float, cpu: str, date: str) -> None:
    """Keep the noise for later races; a read-only home is no reason to fail."""
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_bytes(msgspec.json.encode(Noise(machine=_key(cpu), band=band, date=date)))


def recall(cpu: str) -> Noise | None:
    """The noise that was measured on this very machine, if ever."""
    try:
        noise = msgspec.json.decode(_file().read_bytes(), type=Noise)
    except (OSError, msgspec.MsgspecError):
        return None
    return noise if noise.machine == _key(cpu) else None


def _key(cpu: str) -> str:
    return f"{platform.node()} {cpu}"


def _file() -> Path:
    return platformdirs.user_cache_path("onnxperf") / "noise.json"
