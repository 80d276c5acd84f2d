"""Options in messages: `time=45` in backquotes, which the command line shows as --time 45, and Python as time=45."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from onnxperf.options.base import Group, Option
from onnxperf.wording.code import without_marks

_MENTION = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
_ARGUMENTS = {"plan": "PLAN", "sample": "--input"}
"""Keywords that are arguments or other options on the command line."""


@cache
def flags() -> dict[str, str]:
    """The flag of each keyword; a name has the same meaning in all functions."""
    return {**_ARGUMENTS, **{each.name: each.flag for each in declared()}}


def declared() -> Iterator[Option]:
    """All options, shared ones first."""
    from onnxperf.options import functions, output, shared

    for module in (shared, functions, output):
        for group in vars(module).values():
            if isinstance(group, type) and issubclass(group, Group):
                yield from group.declared.values()


def as_flags(text: str) -> str:
    """The text with the options in backquotes spelled as flags; other code stays."""
    return _MENTION.sub(_flag, text)


def as_keywords(text: str) -> str:
    """The text with the options in backquotes spelled as keywords: `time` becomes `time=…`."""
    return _MENTION.sub(_keyword, text)


def plain_flags(text: str) -> str:
    """The text with options spelled as flags, for streams without styles."""
    return without_marks(as_flags(text))


def _flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    flag = flags().get(name)
    if flag is None:
        return found[0]
    return f"`{flag}`" if value is None else f"`{flag} {value}`"


def _keyword(found: re.Match[str]) -> str:
    name, value = found.groups()
    return f"`{name}=…`" if value is None and name in flags() else found[0]
