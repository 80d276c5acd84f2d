"""`onnxperf.history`: how the times of a model changed from run to run."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import get_args

from onnxperf.analyze.judges.history import judge_history
from onnxperf.api._shared.opening import open_source
from onnxperf.errors import BadOption, OnnxperfError
from onnxperf.records.history import By
from onnxperf.results.history import HistoryResult
from onnxperf.store import Store, is_missing, open_store, place_of
from onnxperf.wording.names import first_of, name_of

_MIN_EFFECT = 0.01


def history(
    model: str | Path,
    *,
    by: By | None = None,
    store: str | Path | None = None,
    since: str | date | None = None,
    limit: int | None = None,
    min_effect: float = _MIN_EFFECT,
) -> HistoryResult:
    """The times of a model in all runs of the store, and where they change.

    `model` is the label that runs show, zoo:NAME, or an .onnx file, which is found by its name and by what is in it.
    Every machine, way of calling and size is a series of its own. `by` orders and groups runs by the version of
    onnxruntime, by the tag `commit` or by the day, or compares machines; else each run stands by its time. `since` is a
    date or a number of days such as 30d, `limit` the newest runs of each series, and `min_effect` the smallest
    relative change that is called one.
    """
    if limit is not None and limit < 1:
        raise BadOption(option="limit", value=limit, expected="at least 1 run")
    if not 0 <= min_effect < 1:
        raise BadOption(option="min_effect", value=min_effect, expected="a part such as 0.01")
    order, begin = _checked(by), _begin(since)
    if is_missing(store):
        raise BadOption(f"no run of {name_of(str(model))}: the store {place_of(store)} does not exist yet")
    labels, fingerprint = _identity(model)
    with open_store(store, reading=True) as opened:
        found = opened.histories(labels, fingerprint, begin)
        if not found:
            known = first_of([name_of(each) for each in opened.labels()], 8) or "none"
            when = f" since {begin[:10]}" if begin else ""
            raise BadOption(f"no race of {name_of(str(model))}{when} in the store {opened.place}; it has: {known}")
    return HistoryResult(judge_history(str(model), found, order, min_effect, limit))


def history_of_label(label: str, by: str | None, limit: int | None, opened: Store) -> HistoryResult | None:
    """The same for a label alone, in a store that is open: no file is looked at, whatever the label is."""
    order = _checked(by)
    found = opened.histories({label})
    return HistoryResult(judge_history(label, found, order, _MIN_EFFECT, limit)) if found else None


def _checked(by: str | None) -> By | None:
    found: By | None = next((each for each in get_args(By) if each == by), None)
    if by is not None and found is None:
        raise BadOption.unknown("order", by, get_args(By), option="by")
    return found


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


def _begin(since: str | date | None) -> str:
    """A date or a number of days as the store has its times."""
    if since is None:
        return ""
    text = str(since)
    try:
        if text.endswith("d") and text[:-1].isdigit():
            moment = datetime.now(UTC) - timedelta(days=int(text[:-1]))
        else:
            moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        expected = "a date such as 2026-11-03, or days such as 30d"
        raise BadOption(option="since", value=text, expected=expected) from error
    return moment.isoformat(timespec="microseconds")
