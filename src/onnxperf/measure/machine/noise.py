"""The noise of this machine, measured by the doctor and remembered for later races."""

from __future__ import annotations

import contextlib
import platform
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

from onnxperf.drafts import write_aside

_RACE = 2
"""Races with several launches detect smaller differences: an older band would hide them."""


class Noise(Struct, frozen=True, kw_only=True):
    """Result of an A/A race of the doctor."""

    machine: str
    band: float
    """Largest relative difference that a race of default length could still claim between two equal subjects. At most 3
    %: the doctor saves no larger one (see `why_not_kept` there)."""
    date: str
    race: int
    """Version of the kind of race that measured it."""


def remember(band: float, cpu: str, date: str) -> None:
    """Save the noise for later races, replacing an older value; a read-only home directory is not an error."""
    record = msgspec.json.encode(Noise(machine=_key(cpu), band=band, date=date, race=_RACE))
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_aside(_file(), record)


def recall(cpu: str) -> Noise | None:
    """The noise measured on this very machine, if any."""
    try:
        noise = msgspec.json.decode(_file().read_bytes(), type=Noise)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    is_valid = noise.machine == _key(cpu) and noise.race == _RACE and noise.band > 0
    return noise if is_valid else None


def _key(cpu: str) -> str:
    return f"{platform.node()} {cpu}"


def _file() -> Path:
    return platformdirs.user_cache_path("onnxperf") / "noise.json"
