"""Damages whole inputs: bytes, fields of messages, values of JSON, words of texts; the same dice, the same damage."""

from __future__ import annotations

import contextlib
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from google.protobuf.message import Message  # type: ignore[import-untyped]

NUMBERS = (0, 1, -1, 2, 7, 64, 255, 65536, 2**24, 2**31 - 1, 2**31, 2**32, 2**40, 2**53, 2**63 - 1, -(2**63))
TEXTS = (
    "",
    " ",
    "\0",
    "\n",
    "\x1b[31mred",
    "../../etc/passwd",
    "/dev/zero",
    "$(touch ran)",
    "__import__('os').system('touch ran')",
    "[bold]x[/bold]",
    "<script>",
    "%s{0}{X!r}",
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{ZERO WIDTH SPACE}\N{GRINNING FACE}",
    "Loop",
    "If",
    "X",
    "long" * 2000,
)
FLOATS = (0.0, -1.0, 1e308, 1e-320, float("nan"), float("inf"))


def _changes(random: Random) -> range:
    """As many changes as one input gets: often one, seldom many, so that not all are refused for the same reason."""
    return range(1 + min(8, int(random.expovariate(0.7))))


# ---------------------------------------------------------------- bytes


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Some bytes changed, inserted, left out, repeated, or cut off."""
    for _ in _changes(random):
        data = random.choice(_EDITS)(data, random.randrange(len(data) + 1), random)
    return data


def _piece(data: bytes, place: int, random: Random) -> bytes:
    return data[place : place + random.randint(1, 40)]


_EDITS: Sequence[Callable[[bytes, int, Random], bytes]] = (
    lambda data, place, random: data[:place] + bytes([random.randrange(256)]) + data[place + 1 :],
    lambda data, place, random: data[:place] + random.randbytes(random.randint(1, 8)) + data[place:],
    lambda data, place, random: data[:place] + data[place + len(_piece(data, place, random)) :],
    lambda data, place, random: data[:place] + _piece(data, place, random) * random.randint(2, 20) + data[place:],
    lambda data, place, random: data[:place] + _piece(data, random.randrange(len(data) + 1), random) + data[place:],
    lambda data, place, random: data[:place] + b"\xff" * random.randint(1, 10) + b"\x7f" + data[place + 1 :],
    lambda data, place, random: data[:place] if random.random() < 0.2 else data,
)

# ---------------------------------------------------------------- messages of protobuf


def mutated_message(message: Message, random: Random) -> None:
    """Change fields of a message or of those in it, in place."""
    for _ in _changes(random):
        owner = random.choice(_messages_in(message))
        field = random.choice(owner.DESCRIPTOR.fields)
        with contextlib.suppress(ValueError, TypeError):  # beyond the range of the field
            _change(owner, field, random)


def _messages_in(message: Message) -> list[Message]:
    found = [message]
    for each in found:  # grows meanwhile
        for field, value in each.ListFields():
            if field.message_type is not None:
                found.extend(value if field.is_repeated else [value])
    return found


def _change(owner: Message, field: Any, random: Random) -> None:
    name = field.name
    if not field.is_repeated:
        if random.random() < 0.2:
            owner.ClearField(name)
        elif field.message_type is not None:
            getattr(owner, name).SetInParent()
        else:
            setattr(owner, name, _value(field, random))
        return
    values = getattr(owner, name)
    dice = random.random()
    if len(values) and dice < 0.2:
        del values[random.randrange(len(values))]
    elif len(values) > 1 and dice < 0.4:
        first, second = (random.randrange(len(values)) for _ in range(2))
        _exchange(values, first, second, field.message_type is not None)
    elif field.message_type is not None:
        added = values.add()
        if len(values) > 1:
            added.CopyFrom(values[random.randrange(len(values) - 1)])
    elif len(values) and dice < 0.8:
        values[random.randrange(len(values))] = _value(field, random)
    else:
        values.append(_value(field, random))


def _exchange(values: Any, first: int, second: int, are_messages: bool) -> None:
    if are_messages:
        copy = type(values[first])()
        copy.CopyFrom(values[first])
        values[first].CopyFrom(values[second])
        values[second].CopyFrom(copy)
    else:
        values[first], values[second] = values[second], values[first]


def _value(field: Any, random: Random) -> Any:
    if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
        return random.choice(FLOATS)
    if field.type == field.TYPE_BYTES:
        return random.choice([b"", b"\0" * 8, b"\xff\xfe", random.randbytes(16)])
    if field.cpp_type == field.CPPTYPE_STRING:
        return random.choice(TEXTS)
    return random.choice(NUMBERS)


# ---------------------------------------------------------------- values of JSON, words of texts


def mutated_json(value: Any, random: Random) -> Any:
    """Change values anywhere in parsed JSON, in place; returns what takes its place."""
    for _ in _changes(random):
        owners = _owners_in(value)
        if not owners:
            return _any_value(random)
        _change_json(random.choice(owners), random)
    return value


def _owners_in(value: Any) -> list[Any]:
    found = [value] if isinstance(value, dict | list) and value else []
    for each in found:
        inner = each.values() if isinstance(each, dict) else each
        found.extend(child for child in inner if isinstance(child, dict | list) and child)
    return found


def _change_json(owner: Any, random: Random) -> None:
    place = random.choice(list(owner)) if isinstance(owner, dict) else random.randrange(len(owner))
    dice = random.random()
    if dice < 0.15:
        del owner[place]
    elif dice < 0.3 and isinstance(owner, list):
        random.shuffle(owner)
    elif dice < 0.4 and isinstance(owner, dict):
        owner[random.choice(TEXTS)] = owner[place]
    elif dice < 0.6 and isinstance(owner[place], int):
        owner[place] = owner[place] + random.choice((-1000, -10, -1, 1, 10, 1000))
    else:
        owner[place] = _any_value(random)


def _any_value(random: Random) -> Any:
    simple: list[Any] = [None, True, random.choice(NUMBERS), random.choice(FLOATS), random.choice(TEXTS)]
    return random.choice([*simple, [], {}, [random.choice(simple)], {"args": random.choice(simple)}, str(2**70)])


_WORD = re.compile(r"[\w.]+|[^\w\s]")


def mutated_text(text: str, random: Random) -> str:
    """Change words and signs of a text, or whole lines."""
    for _ in _changes(random):
        words = list(_WORD.finditer(text))
        if not words:
            return text
        word = random.choice(words)
        other = random.choice(words).group()
        quoted = f'"{random.choice(TEXTS[3:])}"'
        new = random.choice([other, "", quoted, str(random.choice(NUMBERS)), "[]", "{}", "-", "nan", "1e999", "true"])
        new = "[" * 500 if random.random() < 0.01 else new
        text = text[: word.start()] + new + text[word.end() :]
    return text


# ---------------------------------------------------------------- records, whose values keep their types

INDEXES = (0, -1, 1, 3, 1000, 2**31 - 1, 2**53, 2**63 - 1, -(2**63))
SIZES = (0.0, -1.0, -0.0, 1e-320, 1e-9, 1e9, 1e308, -1e308, float("nan"), float("inf"))
TIMES = ("", "2026-13-45T99:99:99+00:00", "now", "0001-01-01T00:00:00+00:00", "2026-01-01")


def mutated_record(value: Any, random: Random) -> Any:
    """Change values of parsed JSON in place, most of them to others of their type, which only a check can refuse."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):  # one that is refused hides what the others would do
        fields = list(_fields_in(value))
        if not fields or random.random() < 0.05:
            return mutated_json(value, random)
        judged = [each for each in fields if isinstance(each[1][each[2]], int | float | list)]  # texts are only shown
        fields = judged if judged and random.random() < 0.7 else fields
        wanted = random.choice(sorted({path for path, _, _ in fields}))  # all blocks together as often as one name
        found = [each for each in fields if each[0] == wanted]
        _, owner, place = random.choice(found)
        if isinstance(owner[place], list) and owner[place] and random.random() < 0.8:
            _change_list(owner[place], random.randrange(len(owner[place])), random)
        else:
            new = _alike(owner[place], random)
            for _, each, its_place in found if random.random() < 0.3 else [("", owner, place)]:
                each[its_place] = copy.deepcopy(new)
    return value


def _fields_in(value: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every place in parsed JSON with its owner; the elements of a list are all at one path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, each in pairs:
        inner = f"{path}/{place if isinstance(value, dict) else ''}"
        yield inner, value, place
        yield from _fields_in(each, inner)


def _change_list(owner: list[Any], place: int, random: Random) -> None:
    """One more, one less, one twice, another order, or none."""
    dice = random.random()
    if dice < 0.35:
        del owner[place]
    elif dice < 0.7:
        owner.insert(random.randrange(len(owner) + 1), copy.deepcopy(owner[place]))
    elif dice < 0.85:
        random.shuffle(owner)
    else:
        owner.clear()


def _alike(value: Any, random: Random) -> Any:
    """Another value of the same type; of null, any."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return random.choice(INDEXES)
    if isinstance(value, float):
        return random.choice(SIZES)
    if isinstance(value, str):
        return random.choice(TIMES if _TIME.match(value) else (*TEXTS, value.swapcase(), value * 2))
    if isinstance(value, dict):
        return {random.choice(TEXTS): each for each in value.values()}
    return [] if isinstance(value, list) else _any_value(random)


_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
