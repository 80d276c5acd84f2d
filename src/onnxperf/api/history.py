"""`onnxperf.history`: how the times of a model changed from run to run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnxperf.analyze.judges.history import judge_history
from onnxperf.api._keeping.kept_runs import Opened, place_in, reading
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.public import public
from onnxperf.api._shared.since import begin_of
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.options.functions import HISTORY
from onnxperf.records.history import History
from onnxperf.results.base import Result
from onnxperf.store import Store, is_missing, place_of
from onnxperf.wording.names import first_of, name_of


@public(HISTORY)
def history(
    model: str | Path, *, by_label: bool = False, store: Opened, min_effect: float, given: Mapping[str, Any]
) -> Result[History]:
    """The times of a model in all runs of the store, and where they change.

    `model` is the label that runs show, zoo:NAME, or an .onnx file, which is found by its name and by what is in it;
    with `by_label`, no file is opened. Every machine, way of calling and size is a series of its own. `group_by` orders
    and groups runs by the version of onnxruntime, by the tag `commit` or by the day, or compares machines; without it,
    runs are in the order of their times. `since` is a date or a number of days such as 30d, `top` the number of newest
    runs of each series, and `min_effect` the smallest relative change that counts.
    """
    begin = begin_of(given.get("since"))
    if not isinstance(store, Store) and is_missing(place_in(store)):
        raise BadOption(f"no run of {name_of(str(model))}: the store {place_of(place_in(store))} does not exist yet")
    labels, fingerprint = ({str(model)}, None) if by_label else _identity(model)
    with reading(store) as opened:
        found = opened.histories(labels, fingerprint, begin)
        if not found:
            known = first_of([name_of(each) for each in opened.labels()], 8) or "none"
            when = f" since {begin[:10]}" if begin else ""
            raise BadOption(f"no race of {name_of(str(model))}{when} in the store {opened.place}; it has: {known}")
    return Result(judge_history(str(model), found, given.get("group_by"), min_effect, given.get("top")))


def _identity(model: str | Path) -> tuple[set[str], str | None]:
    """The labels under which runs may have kept a model, and the fingerprint of its file, if there is one."""
    path = Path(model)
    labels = {str(model)}
    if path.suffix == ".onnx":
        labels.add(path.name.removesuffix(".onnx"))
    try:
        return labels, open_source(path).fingerprint if path.is_file() else None
    except (OSError, OnnxperfError):  # what was measured can be shown, whatever became of the file
        return labels, None
