"""Texts that differ only in their numbers, as one text with the smallest and the largest of each."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"(?<![\w.,=-])\d[\d,]*(?:\.\d+)?(?![\w.,]*\d)|(?<=`time=)\d+(?=`)")
"""A number that stands alone, or the proposed time."""
_SPAN = re.compile(r"\d to \d")


def kind_of(text: str) -> str:
    """What texts that differ only in numbers have in common; a text with a span of numbers is its own kind."""
    if _SPAN.search(text):
        return text
    kind, numbers = _NUMBER.subn("#", text)
    return f"{numbers} {kind}"


def in_one(texts: Sequence[str]) -> str:
    """Texts of one kind as one, `2 to 13 rounds are too few: use …`, with the longest time that is proposed."""
    if _SPAN.search(texts[0]):
        return texts[0]
    columns = iter(zip(*(_NUMBER.findall(text) for text in texts), strict=True))

    def span(found: re.Match[str]) -> str:
        numbers = sorted(next(columns), key=lambda number: float(number.replace(",", "")))
        is_time = found.string.startswith("time=", found.start() - len("time="))
        return numbers[-1] if numbers[0] == numbers[-1] or is_time else f"{numbers[0]} to {numbers[-1]}"

    return _NUMBER.sub(span, texts[0])
