"""Parsers that turn texts into values of options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from onnxperf.options.base import Check, TextError
from onnxperf.wording.numbers import plain

T = TypeVar("T")

_PLAIN = re.compile(r"[\w.+=/-]+")
_WITH_COMMAS = ("session.intra_op_thread_affinities",)
"""Settings whose values contain commas."""
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0}
_WORDS = {"true": True, "false": False}

# ---------------------------------------------------------------- what makes sense


def at_least(least: float, what: str = "") -> Check:
    """A number that is at least this."""
    return lambda value: least <= value < float("inf"), f"at least {plain(least)}{what and f' {what}'}"


def above_zero(what: str) -> Check:
    """A positive finite number."""
    return lambda value: 0 < value < float("inf"), f"more than 0 {what}"


def part_below(most: float, example: str) -> Check:
    """A fraction or percentage below this."""
    return lambda value: 0 <= value < most, f"between 0 and {plain(most)} ({example})"


# ---------------------------------------------------------------- one text


def number(text: str) -> float:
    """Any number."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("expected a number") from None


def whole(text: str) -> int:
    """A nonnegative whole number."""
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def part(text: str) -> float:
    """A fraction or percentage, such as 0.01 or 1%."""
    try:
        return float(text.removeprefix("+").removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise ValueError("expected a number such as 0.01 or 1%") from None


def amount(text: str) -> int:
    """A number of bytes, such as 512MB, 2GB or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError("expected an amount of memory such as 512MB or 2GB")
    base = 1024 if found[3] else 1000
    return int(float(found[1]) * base ** " KMGT".index(found[2].upper() or " "))


def seconds(text: str) -> float:
    """A time, such as 50ms or 0.05s."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|µs|ms|s|)", text.strip(), re.ASCII)
    if found is None:
        raise ValueError("expected a time such as 50ms or 0.05s")
    return float(found[1]) * _SECONDS[found[2]]


def names(text: str) -> list[str]:
    """Names separated by commas, without duplicates."""
    return list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))


def one_or_several(text: str) -> Any:
    """A value, or a list if separated by commas."""
    values = [each for each in text.split(",") if each]
    return values if len(values) != 1 else values[0]


def shape(text: str) -> tuple[int, ...]:
    """A shape, such as 20x30."""
    return tuple(whole(size) for size in text.split("x") if size)


def sizes(text: str) -> Any:
    """One size, or several separated by commas."""
    found = [whole(size) for size in text.split(",")]
    return found if len(found) > 1 else found[0]


def bounds(text: str) -> tuple[float, float]:
    """The smallest and the largest value, such as 1:8000."""
    low, colon, high = text.partition(":")
    if not colon:
        raise ValueError("expected LOW:HIGH, such as 1:8000")
    return number(low), number(high)


def place(text: str) -> str | int:
    """A name, or an index."""
    return int(text) if text.isascii() and text.isdigit() else text


def word(text: str) -> bool | int | str:
    """A boolean, a number or a text."""
    return _WORDS.get(text.lower(), place(text))


# ---------------------------------------------------------------- several texts


def pairs(convert: Callable[[str], T], last: bool = False) -> Callable[[Sequence[str]], dict[str, T]]:
    """A parser of NAME=VALUE; the name ends at the first equals sign, or at the `last`."""

    def read(texts: Sequence[str]) -> dict[str, T]:
        found: dict[str, T] = {}
        for text in texts:
            name, equals, value = text.rpartition("=") if last else text.partition("=")
            if not equals or not name or not value:
                raise TextError(text, "expected NAME=VALUE")
            if name in found:
                raise TextError(text, f"{name} was given twice")
            try:
                found[name] = convert(value)
            except ValueError as error:
                raise TextError(text, str(error)) from error
        return found

    return read


def settings(texts: Sequence[str]) -> dict[str, Any]:
    """Values by name from NAME=VALUE[,VALUE]; a repeated name has several values."""
    found: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise TextError(text, "expected NAME=VALUE")
        found.setdefault(name, []).extend([value] if name in _WITH_COMMAS else _plain_values(value))
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def environments(texts: Sequence[str]) -> list[str] | str:
    """Environments separated by commas."""
    return [each for text in texts for each in _plain_values(text)] or ""


def variants(texts: Sequence[str]) -> dict[str, dict[str, str] | str]:
    """Named settings, such as 'lean: threads=1, arena=off', or files of settings, such as @tuned.settings.json."""
    found: dict[str, dict[str, str] | str] = {}
    for text in texts:
        if text.startswith("@"):
            found[Path(text[1:]).name.removesuffix(".json").removesuffix(".settings") or text] = text
            continue
        name, colon, rest = text.partition(":")
        assignments = [each.strip().partition("=") for each in rest.split(",") if each.strip()]
        if not colon or not name.strip() or not all(key and equals and value for key, equals, value in assignments):
            raise TextError(text, "expected NAME: SETTING=VALUE, SETTING=VALUE")
        found[name.strip()] = {key.strip(): value.strip() for key, _, value in assignments}
    return found


def _plain_values(text: str) -> list[str]:
    """Commas separate numbers and words; any other text with commas is a single value."""
    parts = text.split(",")
    return parts if all(_PLAIN.fullmatch(each) for each in parts) else [text]
