"""Consistency rules between the parts of a record; bounds of single numbers are in their types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_type_hints

from msgspec import Struct

from onnxperf.records.envs import Environment
from onnxperf.records.headroom import Headroom, Peaks
from onnxperf.records.history import HistoryPoint, HistorySeries
from onnxperf.records.memory import Growth, MemoryCase, MemorySubject
from onnxperf.records.profile import Profile, Timeline
from onnxperf.records.race import Case
from onnxperf.records.runs import KeptRun
from onnxperf.records.stack import Stack
from onnxperf.records.tune import Tuning

Problems = Iterator[str]


def check_record(record: object) -> None:
    """Raise a ValueError with the first inconsistency in a record or its parts."""
    for part in _parts(record):
        for problem in _RULES[type(part)](part):
            raise ValueError(f"{type(part).__name__}: {problem}")


def is_time(text: str) -> bool:
    """Whether a text is a timestamp as in records: ISO 8601 with a time zone, within years that tables can hold."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return False
    return time.tzinfo is not None and 1970 <= time.year < 2200


# ---------------------------------------------------------------- rules


def _case(case: Case | MemoryCase) -> Problems:
    yield from _unique("subjects", [each.name for each in case.subjects])


def _profile(profile: Profile) -> Problems:
    rows = (*profile.nodes, *profile.operators, *profile.sources, *profile.modules)
    columns = [each.self_us for each in rows]
    for table in (profile.nodes, profile.operators, profile.modules):
        columns += [each.total_us for each in table]
    yield from _equal("times of iterations", columns)
    yield from _equal("alike", [profile.alike, *columns[:1]] if profile.alike else [])
    if profile.timeline is not None:
        yield from _within("timeline.nodes", profile.timeline.nodes, len(profile.nodes))
    for each in profile.other_timelines:
        yield from _within("other_timelines.nodes", each.nodes, len(profile.nodes))
    if profile.headroom is not None:
        yield from _headroom(profile, profile.headroom)


def _headroom(profile: Profile, headroom: Headroom) -> Problems:
    for name in ("nodes", "operators", "sources", "modules"):
        yield from _equal(f"headroom.{name}", [getattr(profile, name), getattr(headroom, name)])
    known = {each.op_name for each in profile.operators}
    if any(node.op_name not in known for node in profile.nodes):
        yield "the operator of a node is missing from the operators"


def _timeline(line: Timeline) -> Problems:
    optional = (line.in_use_bytes, line.held_bytes, line.live_bytes)
    columns = [line.nodes, line.start_us, line.duration_us, line.threads, *filter(None, optional)]
    yield from _equal("columns", columns)


def _peaks(peaks: Peaks) -> Problems:
    sizes = [each.size_bytes for each in peaks.bandwidths]
    if not sizes or sizes[0] < 1 or any(one >= other for one, other in pairwise(sizes)):
        yield "sizes of bandwidths are not increasing"


def _growth(growth: Growth) -> Problems:
    yield from _equal("points", [growth.calls, growth.resident_bytes])
    if not growth.calls:
        yield "no points"


def _memory(subject: MemorySubject) -> Problems:
    yield from _equal("samples", [subject.sample_ns, subject.sample_bytes])


def _stack(stack: Stack) -> Problems:
    for place, frame in enumerate(stack.frames):
        if (frame.parent is None) != (place == 0):
            yield "only the first frame may be the root"
        yield from _within("parent", [] if frame.parent is None else [frame.parent], place)


def _series(series: HistorySeries) -> Problems:
    yield from _within("changes", [each.index for each in series.changes], len(series.points))


def _tuning(tuning: Tuning) -> Problems:
    yield from _unique("rows", [row.choice.name for row in tuning.rows])


def _times(*names: str) -> Callable[[Any], Problems]:
    def check(record: Any) -> Problems:
        for name in names:
            text = getattr(record, name)
            if text is not None and not is_time(text):
                yield f"{name} is {text[:40]!r}, which is not a timestamp"

    return check


_RULES: dict[type, Callable[[Any], Problems]] = {
    Case: _case,
    MemoryCase: _case,
    MemorySubject: _memory,
    Growth: _growth,
    Profile: _profile,
    Timeline: _timeline,
    Peaks: _peaks,
    Stack: _stack,
    HistoryPoint: _times("started"),
    HistorySeries: _series,
    KeptRun: _times("started", "finished"),
    Environment: _times("created", "used"),
    Tuning: _tuning,
}


# ---------------------------------------------------------------- building blocks of rules


def _equal(what: str, columns: Iterable[Sized]) -> Problems:
    lengths = sorted({len(each) for each in columns})
    if len(lengths) > 1:
        yield f"{what} have different lengths: {', '.join(map(str, lengths))}"


def _unique(what: str, keys: Sequence[object]) -> Problems:
    if len(set(keys)) < len(keys):
        yield f"{what} are not unique"


def _within(what: str, places: Iterable[int], length: int) -> Problems:
    wrong = next((each for each in places if not 0 <= each < length), None)
    if wrong is not None:
        yield f"{what} has index {wrong}, but the length is {length}"


# ---------------------------------------------------------------- parts


def _parts(value: object) -> Iterator[object]:
    """All parts of a record that have a rule; columns of numbers and records without rules are skipped."""
    if isinstance(value, Struct):
        if type(value) in _RULES:
            yield value
        for name in _leading(type(value)):
            yield from _parts(getattr(value, name))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _parts(each)
    elif isinstance(value, dict):
        yield from _parts(list(value.values()))


@cache
def _leading(kind: type) -> tuple[str, ...]:
    """Fields of a record that can contain something with a rule."""
    return tuple(name for name, each in get_type_hints(kind).items() if _leads(each, frozenset({kind})))


def _leads(kind: Any, seen: frozenset[type]) -> bool:
    if kind in _RULES:
        return True
    if isinstance(kind, type) and issubclass(kind, Struct) and kind not in seen:
        return any(_leads(each, seen | {kind}) for each in get_type_hints(kind).values())
    return any(_leads(each, seen) for each in get_args(kind))
