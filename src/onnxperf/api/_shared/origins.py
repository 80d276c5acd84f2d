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

_OLDER_NAMES = {"keras": "tensorflow", "saved_model": "tensorflow", "scikit-learn": "sklearn"}
"""Names of frameworks in files that were written before each had only one."""


class Origin(Struct, frozen=True):
    """What a model was converted from."""

    framework: str
    source: str
    """FILE.py:function with the whole path of the file, module:function, or the path of a saved_model or a file."""


def remember(model: str | Path, framework: str, source: str) -> None:
    """Keep where the model in a file came from; a read-only home is no reason to fail."""
    place, colon, function = source.rpartition(":")
    is_file = bool(colon) and place.endswith(".py")
    whole = f"{Path(place).absolute()}:{function}" if is_file else source
    if Path(source).exists():
        whole = str(Path(source).absolute())
    file = _file(open_source(model).fingerprint)
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_aside(file, msgspec.json.encode(Origin(framework, whole)))


def recall(fingerprint: str) -> Origin | None:
    """Where a model came from, if it was converted here."""
    try:
        found = msgspec.json.decode(_file(fingerprint).read_bytes(), type=Origin)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return Origin(_OLDER_NAMES.get(found.framework, found.framework), found.source)


def _file(fingerprint: str) -> Path:
    return platformdirs.user_cache_path("onnxperf") / "origins" / f"{fingerprint}.json"
