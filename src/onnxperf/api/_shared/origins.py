"""Where models that were converted here came from, so that `against="torch"` finds the source again.

Kept in the user's own cache and never in the model: a model must not name code that will be run.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

from onnxperf.api._shared.opening import open_source
from onnxperf.drafts import write_aside


class Origin(Struct, frozen=True):
    """What a model was converted from."""

    framework: str
    source: str
    """FILE.py:function with the whole path of the file, module:function, or the path of a saved_model or a file."""


def origin_of(framework: str, source: str) -> Origin | None:
    """What a text names, wherever this process goes later; None for an object, which nothing finds again."""
    if not source:
        return None
    if Path(source).exists():
        return Origin(framework, str(Path(source).absolute()))
    place, colon, function = source.rpartition(":")
    is_file = bool(colon) and place.endswith(".py")
    return Origin(framework, f"{Path(place).absolute()}:{function}" if is_file else source)


def remember(model: str | Path, origin: Origin) -> None:
    """Keep where the model in a file came from; a read-only home is no reason to fail."""
    file = _file(open_source(model).fingerprint)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_aside(file, msgspec.json.encode(origin))


def recall(fingerprint: str) -> Origin | None:
    """Where a model came from, if it was converted here."""
    try:
        return msgspec.json.decode(_file(fingerprint).read_bytes(), type=Origin)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def _file(fingerprint: str) -> Path:
    return platformdirs.user_cache_path("onnxperf") / "origins" / f"{fingerprint}.json"
