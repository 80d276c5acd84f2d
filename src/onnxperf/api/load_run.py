"""`onnxperf.load_run`: a run from the store or from its file, as if it had just been measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from onnxperf.api._keeping.kept_runs import Opened, load_result
from onnxperf.api._shared.recordings import result_of_trace
from onnxperf.errors import BadInput
from onnxperf.render.kit.documents import from_json
from onnxperf.results.base import Result, result_classes
from onnxperf.wording.names import name_of

_LARGEST_BYTES = 1 << 30
"""Of a result; what is longer is read only so far, and is then no JSON."""


def load_run(run: str | Path = "last", *, store: Opened = True) -> Any:
    """A saved run of any kind, with all that it measured; its record is exactly as it was.

    `run` is an id, the start of one, last, or a .json file: one that a command wrote, or a trace of onnxruntime.
    """
    return _read(Path(run)) if str(run).lower().endswith(".json") else load_result(str(run), store=store)


def _read(path: Path) -> Result[Any]:
    """What a .json file holds: a trace, or a result."""
    name = name_of(str(path))
    try:
        with path.open("rb") as file:
            is_list = file.read(64).lstrip().startswith(b"[")
            file.seek(0)
            data = b"{}" if is_list else file.read(_LARGEST_BYTES)
        fields = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have, or no JSON
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"cannot read {name}: {reason}") from error
    if is_list or "traceEvents" in fields:
        return result_of_trace(path)
    kind = _kind_of(fields)
    if kind is None:
        raise BadInput(f"{name} is no result of onnxperf; give the .json that a command wrote, or a trace")
    return result_classes()[kind](from_json(data, kind))


def _kind_of(fields: dict[str, Any]) -> type[Struct] | None:
    """The record that has these fields: results are written with all of theirs."""
    names = {kind: set(kind.__struct_encode_fields__) for kind in result_classes()}
    fitting = [kind for kind, known in names.items() if fields and fields.keys() <= known]
    return min(fitting, key=lambda kind: len(names[kind] - fields.keys()), default=None)
