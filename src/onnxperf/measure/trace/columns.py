"""Decode onnxruntime's events with msgspec and turn them into columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar

import msgspec
import numpy as np
from msgspec.structs import astuple

from onnxperf.errors import BadInput
from onnxperf.measure.trace.joined import JoinedTexts
from onnxperf.records.trace import EVENT_CAP, MISSING, Coded, TensorType, TensorTypes, Trace
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.records.trace import Integers

V = TypeVar("V", bound=Hashable)

NUMBER_ARGUMENTS = (
    "node_index",
    "activation_size",
    "parameter_size",
    "output_size",
    "mem_bytes_in_use",
    "mem_in_use_delta",
    "mem_in_use_peak",
    "mem_bytes_requested_in_use",
    "mem_requested_in_use_delta",
    "mem_arena_held",
    "mem_arena_held_delta",
    "graph_index",
    "exec_plan_index",
    "stream",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
)
"""Numeric event arguments: of nodes, of nodes in older versions, of GPU kernels."""

_LATEST_US, _LONGEST_US = 2**53, 2**43
"""Beyond this (285 years, 100 days) times are nonsense, and sums over a full trace would overflow."""

MANY_TEXTS = 1 << 12
"""Maximum number of texts known to a decoder; there are as many names as nodes."""

_TEXTS = ("op_name", "provider", "parent_name")
_TYPES = ("input_type_shape", "output_type_shape")
_RAWS = (*_TYPES, "thread_scheduling_stats")

_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Time = Annotated[int, msgspec.Meta(ge=-_LATEST_US, le=_LATEST_US)]
_Duration = Annotated[int, msgspec.Meta(ge=0, le=_LONGEST_US)]


def _event_type(texts: Mapping[str, Any], raws: Sequence[str], numbers: Sequence[str], *, only_these: bool) -> Any:
    """The type of an event with these arguments; `texts` maps every text field to its type."""
    # Without garbage collection: a chunk's events contain no cycles, and tracking them would cost more than decoding.
    arguments = msgspec.defstruct(
        "_Arguments",
        [
            *((name, texts[name] | None, None) for name in _TEXTS if name in texts),
            *((name, msgspec.Raw, msgspec.Raw()) for name in raws),
            *((name, int, MISSING) for name in numbers),  # limits are checked when packing, which is faster
        ],
        gc=False,
        forbid_unknown_fields=only_these,
    )
    return msgspec.defstruct(
        "_Event",
        [
            ("cat", texts["cat"]),
            ("name", texts["name"]),
            ("ts", _Time),
            ("dur", _Duration),
            ("pid", _Integer, MISSING),
            ("tid", _Integer, MISSING),
            ("ph", Literal["X"], "X"),
            ("args", arguments, msgspec.field(default_factory=arguments)),
        ],
        gc=False,
    )


def _decoder(event: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(list[event], strict=False)


_STRINGS = ("cat", "name", *_TEXTS)
_NUMBERS = ("ts", "dur", "pid", "tid")
_FILLER = dict.fromkeys((*_NUMBERS, *NUMBER_ARGUMENTS), struct.pack("q", MISSING))
_FILLER |= dict.fromkeys((*_STRINGS, *_TYPES), struct.pack("q", -1))
_Event = _event_type(dict.fromkeys(_STRINGS, str), _RAWS, NUMBER_ARGUMENTS, only_these=False)
_Arguments = type(_Event("", "", 0, 0).args)
EVENTS = _decoder(_Event)
_SHAPES = msgspec.json.Decoder(list[dict[str, list[_Integer]]])

# ---------------------------------------------------------------- events with something wrong


def _event_of(value: Any) -> Any:
    """An event from parsed JSON, without arguments of a wrong type; None if it is not a complete event."""
    if isinstance(value, _Event):
        return value
    if not isinstance(value, Mapping) or value.get("ph", "X") != "X":
        return None
    category, name = _text(value.get("cat")), _text(value.get("name"))
    start, duration, process, thread = (_number(value.get(key)) for key in _NUMBERS)
    if category is None or name is None or abs(start) > _LATEST_US or not 0 <= duration <= _LONGEST_US:
        return None
    given = value.get("args")
    arguments: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    known = _Arguments(
        *(_text(arguments.get(key)) for key in _TEXTS),
        *(_raw(arguments.get(key)) for key in _RAWS),
        *(_number(arguments.get(key)) for key in NUMBER_ARGUMENTS),
    )
    return _Event(category, name, start, duration, process, thread, "X", known)


def _text(value: Any) -> str | None:
    # half of a surrogate pair is valid in JSON, but cannot be printed
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _number(value: Any) -> int:
    if isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            try:
                value = float(value)
            except ValueError:
                return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return MISSING
    return int(value) if -(2**63) <= value < 2**63 else MISSING  # neither infinite nor nan


def _raw(value: Any) -> msgspec.Raw:
    if value is None:
        return msgspec.Raw()
    try:
        return msgspec.Raw(msgspec.json.encode(value))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        return msgspec.Raw()


# ---------------------------------------------------------------- events to columns


class _Codes(dict[Any, int], Generic[V]):
    """Index of a value among the distinct ones, by its text in the trace; each text is parsed only once."""

    def __init__(self, understand: Callable[[Any], V | None]) -> None:
        super().__init__()
        self._understand = understand
        self._places: dict[V, int] = {}  # two texts may have the same value

    def __missing__(self, written: Any) -> int:
        value = self._understand(written)
        place = -1 if value is None else self._places.setdefault(value, len(self._places))
        self[written] = place
        return place

    def coded(self, codes: Integers) -> Coded[V]:
        """The column of these codes."""
        return Coded(tuple(self._places), codes)


def _unless_empty(text: str | None) -> str | None:
    return text or None


def _tensor_types(text: bytes) -> TensorTypes | None:
    """The types and shapes in texts like [{"float":[1,3]},{"int64":[]}]; None for anything else."""
    try:
        if text.startswith(b'"'):  # other tools pass the list as a string
            text = msgspec.json.decode(text, type=str).encode()
        return tuple(TensorType(dtype, tuple(shape)) for each in _SHAPES.decode(text) for dtype, shape in each.items())
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


class Columns:
    """Collects events as columns, chunk by chunk."""

    def __init__(self) -> None:
        self.unreadable = 0
        self._foreign = 0
        self._events = 0
        self._columns: dict[str, bytearray] = {}
        self._texts = {name: _Codes(_unless_empty if name in _TEXTS else str) for name in _STRINGS}
        self._types = {name: _Codes(_tensor_types) for name in _TYPES}
        self._thread_statistics: list[bytes] = []
        self._usual = EVENTS
        self._surprises, self._until_usual = 0, 2  # after the first chunk

    def add_text(self, text: memoryview) -> None:
        """Append the complete events of a JSON list."""
        self._until_usual -= 1
        if self._until_usual == 0:
            self._usual = self._decoder_of_usual()
        try:
            events = self._usual.decode(text)
        except msgspec.ValidationError:  # something new: learn it, but wait longer after each vain attempt
            self._surprises += 1
            self._usual, self._until_usual = EVENTS, 1 + self._surprises**2 // 4
            events = EVENTS.decode(text)
        self.add(events)

    def _decoder_of_usual(self) -> msgspec.json.Decoder[Any]:
        """A decoder of only the arguments and texts seen so far, which reuses the strings."""
        known = {name: [text for text in codes if text is not None] for name, codes in self._texts.items()}
        texts = {name: _one_of(values) for name, values in known.items() if values}
        numbers = [name for name in NUMBER_ARGUMENTS if name in self._columns]
        return _decoder(_event_type(dict.fromkeys(("cat", "name"), str) | texts, _RAWS, numbers, only_these=True))

    def add(self, events: Sequence[Any]) -> None:
        """Append events, all of one type."""
        if not events:
            return
        table = _columns_of(events)
        table |= _columns_of(table.pop("args"))
        pack = struct.Struct(f"{len(events)}q").pack  # twice as fast as any conversion to an array
        for name in _NUMBERS:
            self._append(name, pack(*table[name]))
        for name in NUMBER_ARGUMENTS:
            if name in table and _occurs(table[name]):
                self._append(name, _packed(pack, table[name]))
        for name, texts in self._texts.items():
            if name in table:
                self._append(name, pack(*map(texts.__getitem__, table[name])))
        for name, types in self._types.items():
            self._append(name, pack(*map(types.__getitem__, _copied(table[name]))))
        self._events += len(events)
        self._thread_statistics.append(JoinedTexts.SEPARATOR.join(table["thread_scheduling_stats"]))

    def add_values(self, values: Sequence[Any]) -> None:
        """Append the complete events among these parsed JSON values, and count the others."""
        found = [(_event_of(value), value) for value in values]
        self.add([event for event, _ in found if event is not None])
        # names of processes and threads (M) and counters (C), which our own files also contain, are not counted as lost
        self._foreign += sum(
            event is None and not (isinstance(value, Mapping) and value.get("ph") in ("M", "C"))
            for event, value in found
        )

    def trace(self, what: str, notes: Sequence[str]) -> Trace:
        """The trace of all events so far."""
        if not self._events:
            raise BadInput(f"{what} {self._why_empty()}; run a session with enable_profiling, then end_profiling()")
        texts = [codes.coded(self._column(name)) for name, codes in self._texts.items()]
        inputs, outputs = (types.coded(self._column(name)) for name, types in self._types.items())
        categories, names, op_names, providers, parent_names = texts
        start_us, duration_us, processes, threads = map(self._column, _NUMBERS)
        return Trace(
            categories=categories,
            phases=Coded(("X",), np.zeros(len(start_us), np.int64)),
            names=names,
            processes=processes,
            threads=threads,
            start_us=start_us,
            duration_us=duration_us,
            op_names=op_names,
            providers=providers,
            parent_names=parent_names,
            inputs=inputs,
            outputs=outputs,
            numbers={name: self._column(name) for name in NUMBER_ARGUMENTS if name in self._columns},
            thread_statistics=JoinedTexts(self._thread_statistics, self._events),
            notes=(*notes, *self._notes()),
        )

    def _append(self, name: str, values: bytes) -> None:
        """Extend a column, which earlier events may have lacked."""
        column = self._columns.setdefault(name, bytearray())
        column += _FILLER[name] * (self._events - len(column) // 8)
        column += values

    def _column(self, name: str) -> Integers:
        """A whole column."""
        self._append(name, b"")
        return np.frombuffer(self._columns[name], np.int64)  # a bytearray is writable

    def _why_empty(self) -> str:
        lost = self.unreadable + self._foreign
        return (
            f"is not a trace of onnxruntime: none of its {lost} entries is an event" if lost else "contains no events"
        )

    def _notes(self) -> list[str]:
        notes = []
        if self.unreadable:
            notes.append(f"{_entries_were(self.unreadable)} unreadable and ignored")
        if self._foreign:
            kind = "not a complete event of onnxruntime (ph X with cat, name, ts and dur)"
            notes.append(f"{_entries_were(self._foreign)} {kind} and ignored")
        if self._events + self.unreadable + self._foreign >= EVENT_CAP:
            cap = count(EVENT_CAP, "event")
            notes.append(f"the trace is full: onnxruntime stops recording at {cap}, so later ones are missing")
        return notes


def _one_of(texts: Sequence[str]) -> Any:
    return Literal[tuple(texts)] if len(texts) < MANY_TEXTS else str


def _columns_of(structs: Sequence[Any]) -> dict[str, tuple[Any, ...]]:
    return dict(zip(structs[0].__struct_fields__, zip(*map(astuple, structs), strict=True), strict=True))


def _packed(pack: Callable[..., bytes], values: tuple[int, ...]) -> bytes:
    try:
        return pack(*values)
    except struct.error:
        return pack(*(value if -(2**63) <= value < 2**63 else MISSING for value in values))


def _occurs(values: tuple[int, ...]) -> bool:
    return values[0] != MISSING or values.count(MISSING) < len(values)


def _copied(raws: Iterable[msgspec.Raw]) -> Iterable[bytes]:
    """Copies of the texts: a Raw would keep the whole chunk alive, and joining is the fastest way to copy it."""
    return map(b"".join, zip(raws))


def _entries_were(number: int) -> str:
    return count(number, "entry was", "entries were")
