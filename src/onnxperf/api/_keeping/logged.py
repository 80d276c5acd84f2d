"""What a tracking server learns of a result: parameters, numbers and tags, with names and values that it takes."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import sweep_models
from onnxperf.analyze.judges.outcome import topic_of
from onnxperf.errors import masked
from onnxperf.records.base import AnySubject, Machine
from onnxperf.records.memory import MemoryCase
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.render.race.subjects import values_of
from onnxperf.results.base import Result
from onnxperf.wording.names import dims_text, one_line, storable

if TYPE_CHECKING:
    from pandas import DataFrame

LONGEST_KEY, LONGEST_PARAM, LONGEST_TAG = 250, 6000, 8000
"""Characters that MLflow 3 takes."""
_DIGEST = 8
"""Characters that tell apart what is cut to the same start."""
_MOST_ROWS = 100
"""Rows of a table that are logged; the file has all of them."""
_TABLES = {"check": "outputs", "gate": "limits", "memory": "subjects", "profile": "operators"}
"""Tables whose rows are logged, by the kind of result; of others, the numbers of the record."""
_LABELS = ("dims", "name", "measure", "op_name")
"""Columns that say what a row is about."""
_SETTINGS = ("threads", "inter_op_threads", "opset", "rtol", "atol", "min_effect", "budget_s", "interval_ns", "seed")
"""Requested numbers, not measured ones."""
_LEFT_OUT = (
    *("answer", "notes", "reason", "stderr", "sentence", "snippet", "command", "version", "status", "interrupted"),
    *("baseline", "new", "before", "after", "amount", "default_amount"),
)
"""Fields that are sentences or logged by themselves, and numbers whose unit depends on the measured subject."""
_MS = {"_ns": 1e6, "_us": 1e3}
"""Ends of the names of times, and how many of them are a millisecond."""


@dataclass
class RunLog:
    """One run of a tracking server, and the runs below it."""

    name: str
    params: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    children: list[RunLog] = field(default_factory=list)

    def param(self, value: object, *names: str) -> None:
        """Add a parameter; what is empty is left out."""
        text = _value(value, LONGEST_PARAM)
        if value is not None and text:
            self.params[_free(key_of(*names), self.params)] = text

    def metric(self, value: object, *names: str) -> None:
        """Add a number that is known and finite; times become milliseconds."""
        number = _number(value)
        if number is None:
            return
        *groups, name = names
        end = next((end for end in _MS if name.endswith(end)), "")
        shown = f"{name.removesuffix(end)}_ms" if end else name
        self.metrics[_free(key_of(*groups, shown), self.metrics)] = number / _MS.get(end, 1.0)

    def tag(self, value: object, *names: str) -> None:
        """Add a tag; what is empty is left out."""
        text = _value(value, LONGEST_TAG)
        if value is not None and text:
            self.tags[_free(key_of(*names), self.tags)] = text


class _Setting(NamedTuple):
    """A setting of one subject."""

    subject: str
    name: str
    value: object


def key_of(*names: str) -> str:
    """Names as one key of the signs that MLflow takes on every system; each has its part of the length."""
    room = (LONGEST_KEY + 1) // len(names) - 1
    return "/".join(_component(name, room) for name in names)


def _component(name: str, room: int) -> str:
    cleaned = re.sub(r"[^\w. -]", "_", storable(name)).strip()
    visible = re.sub(r"^\.+|^$", lambda dots: "_" * max(len(dots[0]), 1), cleaned)
    if len(visible) <= room:
        return visible
    digest = hashlib.sha256(visible.encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{visible[: room - _DIGEST - 1]}-{digest}"


def _free(key: str, taken: Mapping[str, object]) -> str:
    """The key, changed where another one is the same or would be a folder of the same name: some stores have files."""
    if any(key.startswith(f"{other}/") for other in taken):
        key = key.replace("/", ".")
    free = key
    for number in itertools.count(2):
        if free not in taken and not any(other.startswith(f"{free}/") for other in taken):
            break
        end = f" {number}"
        free = f"{key[: LONGEST_KEY - len(end)]}{end}"
    return free


def _value(value: object, longest: int) -> str:
    text = masked(one_line(storable(str(value))))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _number(value: Any) -> float | None:
    """A finite number, of Python or of numpy; None for all else."""
    try:
        number = float(value) if not isinstance(value, bool | str) else math.nan
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


# ---------------------------------------------------------------- from results


def log_of(result: Result[Any]) -> RunLog:
    """What is worth comparing in a result, of whatever kind it is; each case of a sweep is a run below."""
    record = result.record
    log = RunLog(name=_value(f"{result.kind} {topic_of(record)}".strip(), LONGEST_KEY))
    log.param(topic_of(record), "model")
    log.param(getattr(record, "command", ""), "command")
    _add_machine(log, getattr(record, "machine", None))
    log.tag(result.kind, "onnxperf.kind")
    log.tag(result.status, "onnxperf.status")
    log.tag(result.run, "onnxperf.run")
    log.tag(_answer(result), "mlflow.note.content")
    if not isinstance(record, Bench):
        _add_record(log, record)
        if result.kind in _TABLES:
            _add_rows(log, result.table(_TABLES[result.kind]))
    elif len(record.cases) == 1:
        _add_case(log, record.cases[0])
    else:
        log.metric(len(record.cases), "cases")
        log.children = [_case_log(case) for case in record.cases]
    return log


def _answer(result: Result[Any]) -> str:
    cases = result.record.cases if isinstance(result.record, Bench) else ()
    return sweep_answer(sweep_models(cases)) if len(cases) > 1 else result.answer


def _case_log(case: Case) -> RunLog:
    log = RunLog(name=_value(f"{case.model} {dims_text(case.dims)}".strip(), LONGEST_KEY))
    log.param(case.model, "model")
    log.tag(case.status, "onnxperf.status")
    log.tag(case.answer, "mlflow.note.content")
    _add_case(log, case)
    return log


def _add_set_up(log: RunLog, case: Case | MemoryCase, *place: str) -> None:
    """What was run, and how."""
    digests = {"": case.fingerprint} if isinstance(case.fingerprint, str) else case.fingerprint
    for label, digest in digests.items():
        log.param(digest, *place, "fingerprint", *([label] if len(digests) > 1 else []))
    for name, size in case.dims.items():
        log.param(", ".join(map(str, size)) if isinstance(size, tuple) else size, *place, "dims", name)
    for setting in _settings(case.subjects):
        log.param(setting.value, *place, *filter(None, (setting.subject, setting.name)))


def _add_case(log: RunLog, case: Case, *place: str) -> None:
    _add_set_up(log, case, *place)
    several = len(case.subjects) > 1
    log.param(case.baseline if several else None, *place, "baseline")
    log.param(case.min_effect, *place, "min_effect")
    for subject in case.subjects:
        _add_subject(log, subject, *place, *([subject.name] if several else []))
    rivals = [each for each in case.subjects if each.name != case.baseline]
    if len(rivals) == 1:
        log.tag(rivals[0].verdict, *place, "verdict")


def _add_subject(log: RunLog, subject: Subject, *place: str) -> None:
    is_baseline = subject.verdict == "baseline"
    for name, value in values_of(subject).items():
        if not (is_baseline and name == "speedup"):
            log.metric(value, *place, name)
    if place:
        log.tag(subject.status, *place, "status")
        log.tag(subject.verdict, *place, "verdict")


def _settings(subjects: Sequence[AnySubject]) -> Iterator[_Setting]:
    """How subjects were run: what all have in common once, what differs for each."""
    each = {
        subject.name: {"runtime": subject.runtime, "call": subject.call, **subject.conditions} for subject in subjects
    }
    for name in dict.fromkeys(name for settings in each.values() for name in settings):
        values = {subject: settings.get(name) for subject, settings in each.items()}
        if len(set(map(str, values.values()))) == 1:
            yield _Setting("", name, next(iter(values.values())))
        else:
            yield from (_Setting(subject, name, value) for subject, value in values.items())


def _add_machine(log: RunLog, machine: Machine | None) -> None:
    if machine is None:
        return
    for name in ("cpu", "cores", "system", "python"):
        log.param(getattr(machine, name), "machine", name)
    for library, version in machine.versions.items():
        log.param(version, "versions", library)
    log.metric(machine.others_share, "machine", "others_share")


def _add_record(log: RunLog, record: Struct, *place: str) -> None:
    """Races with all their numbers; of other records, and of those in their fields, numbers and words."""
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if isinstance(value, Machine) or (not place and name == "model"):
            continue
        if isinstance(value, Case):
            _add_case(log, value, *place, name)
        elif isinstance(value, Struct):
            _add_record(log, value, *place, name)
        elif isinstance(value, tuple):
            _add_cases(log, [each for each in value if isinstance(each, Case | MemoryCase)])
        elif isinstance(value, Mapping):
            for key, item in value.items():
                if isinstance(item, str | int | float):
                    log.param(item, *place, name, str(key))
        elif name in ("outcome", "verdict"):
            log.tag(value, *place, name)
        elif name not in _LEFT_OUT or (name == "baseline" and isinstance(value, str)):
            _add_value(log, value, *place, name)


def _add_cases(log: RunLog, cases: Sequence[Case | MemoryCase]) -> None:
    for number, case in enumerate(cases, 1):
        place = [str(number)] if len(cases) > 1 else []
        if isinstance(case, Case):
            _add_case(log, case, *place)
        else:  # its numbers are rows of a table
            _add_set_up(log, case, *place)


def _add_value(log: RunLog, value: object, *place: str) -> None:
    if isinstance(value, str | bool) or place[-1] in _SETTINGS:
        log.param(value, *place)
    else:
        log.metric(value, *place)


def _add_rows(log: RunLog, table: DataFrame) -> None:
    """The numbers of a table, by what its rows are about."""
    rows = table.head(_MOST_ROWS).to_dict("records")
    for row in rows:
        place = tuple(_labels(row)) if len(rows) > 1 else ()
        for column, value in row.items():
            if column not in _LEFT_OUT:
                log.metric(value, *place, str(column))
            if place and column in ("outcome", "status"):
                log.tag(value, *place, str(column))


def _labels(row: Mapping[Any, Any]) -> Iterable[str]:
    for column in _LABELS:
        value = row.get(column)
        text = dims_text(value) if isinstance(value, Mapping) else str(value or "")
        if text:
            yield text
