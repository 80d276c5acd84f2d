"""`onnxperf.report`: one page that tells the story of runs, results and traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.api._keeping.kept_runs import Where, load_bench, load_result
from onnxperf.api._shared.recordings import result_of_trace
from onnxperf.errors import BadInput
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json
from onnxperf.render.kit.files import check_folder, suffix_of
from onnxperf.results.base import Result, result_classes
from onnxperf.results.profile import ProfileResult
from onnxperf.results.report import FORMATS, Report
from onnxperf.results.runs import ComparisonResult
from onnxperf.wording.names import name_of

Source = str | os.PathLike[str] | Result[Any]
_LARGEST_BYTES = 1 << 30
"""Of a result; what is longer is read only so far, and is then no JSON."""


def report(*sources: Source, output: str | Path | None = None, store: Where = None) -> Report:
    """Tell the story of results on one page: the newest run unless others are given.

    A source is the id of a run in the `store` ("last" is the newest), a .json file with a result or with a trace of
    onnxruntime, or a result itself. Two races, or two profiles, are compared first. The page is written to `output`
    (.html or .md), if that is given; a notebook shows it.
    """
    if output is not None:
        suffix_of(output, FORMATS)
        check_folder(output)
    results = [_opened(source, store) for source in sources or ("last",)]
    made = Report([*_compared(results), *results])
    if output is not None:
        made.save(output)
    return made


def _opened(source: Source, store: Where) -> Result[Any]:
    if isinstance(source, Result):
        return source
    path = Path(source)
    return _read(path) if path.suffix.lower() == ".json" else _kept(str(source), store)


def _kept(run: str, store: Where) -> Result[Any]:
    """A run from the store, with its raw blocks where it was a race."""
    result = load_result(run, store=store)
    if not isinstance(result.record, Bench):
        return result
    name, record = load_bench(run, store=store)
    full = result_classes()[Bench](record)
    full.run = name
    return full


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
    """The record that has these fields: results are written with all of theirs, older ones lack the newest."""
    names = {kind: set(kind.__struct_encode_fields__) for kind in result_classes()}
    fitting = [kind for kind, known in names.items() if fields and fields.keys() <= known]
    return min(fitting, key=lambda kind: len(names[kind] - fields.keys()), default=None)


def _compared(results: Sequence[Result[Any]]) -> list[Result[Any]]:
    """Two races through what they share, two profiles node by node; nothing else is compared."""
    if len(results) != 2:
        return []
    one, other = results
    if isinstance(one.record, Bench) and isinstance(other.record, Bench):
        names = (one.run or "first", other.run or "second")
        return [ComparisonResult(compare_runs(names, one.record, other.record))]
    if isinstance(one, ProfileResult) and isinstance(other, ProfileResult):
        from onnxperf.api.diff import diff

        return [diff(one, other)]
    return []
