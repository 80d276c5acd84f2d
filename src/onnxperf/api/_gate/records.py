"""Baselines of a gate that are records: a run of the store, or a .json file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from onnxperf.analyze.judges.gate_record import RecordedRun
from onnxperf.api._keeping.kept_runs import Where, load_result
from onnxperf.errors import BadInput, BadOption, StoreError
from onnxperf.records.gate import Gate
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json
from onnxperf.zoo import PREFIX

_RECORD, _MODELS = ".json", (".onnx", ".ort")


def record_named(baseline: object, store: Where) -> RecordedRun | None:
    """The record that a baseline names: a .json file, else a run; None if it is a model."""
    if not isinstance(baseline, str | os.PathLike):
        return None
    path = Path(os.fspath(baseline))
    text = str(baseline)
    if path.suffix == _RECORD:
        return _read(path)
    if text.startswith(PREFIX) or path.suffix in _MODELS or _exists(path):
        return None
    try:
        result = load_result(text, store=store)
    except (BadOption, StoreError) as error:
        raise BadOption(f"{text!r} is neither a file nor a run: {error}", option="baseline") from error
    return _recorded(f"run {result.run}", result.record)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def _read(path: Path) -> RecordedRun:
    try:
        data = path.read_bytes()
        fields = msgspec.json.decode(data)
    except OSError as error:
        raise BadInput(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{str(path)!r} is not JSON: {error}") from error
    is_gate = isinstance(fields, dict) and "races" in fields
    try:
        record: Gate | Bench = from_json(data, Gate) if is_gate else from_json(data, Bench)
    except BadInput as error:
        raise BadInput(f"{path.name} is not a record of bench, sweep or gate: {error}") from error
    return _recorded(path.name, record)


def _recorded(name: str, record: Any) -> RecordedRun:
    if isinstance(record, Bench):
        return RecordedRun(name=name, machine=record.machine, cases=record.cases)
    if isinstance(record, Gate):
        return RecordedRun(name=name, machine=record.machine, cases=record.races, limits=record.limits, is_gate=True)
    kind = type(record).__name__
    raise BadOption(f"{name} holds a {kind}; a baseline is a bench, a sweep or a gate", option="baseline")
