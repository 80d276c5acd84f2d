"""Commands to run next, with the inputs and settings of this run, ready to paste."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence

from onnxperf.options.spelling import flags

_USUAL: dict[str, object] = {"provider": "cpu", "opt_level": "all"}
"""Default values, in addition to empty values, 0 and False."""


def given(keywords: Mapping[str, object]) -> dict[str, object]:
    """The keywords with non-default values."""
    return {name: value for name, value in keywords.items() if value and value != _USUAL.get(name)}


def next_command(command: str, model: object, feeds: Mapping[str, object], keywords: Mapping[str, object]) -> str:
    """`onnxperf COMMAND MODEL` with options, or a Python call if the model or an input is not a file."""
    if all(isinstance(each, str | os.PathLike) for each in (model, *feeds.values())):
        texts = [text for key, value in {"feeds": feeds, **keywords}.items() for text in _typed(flags()[key], value)]
        return shlex.join(["onnxperf", command, str(model), *texts])
    passed = [f"{key}={value!r}" for key, value in keywords.items()]
    return f"onnxperf.{command}({', '.join(['model', *(['feeds=feeds'] if feeds else []), *passed])})"


def _typed(flag: str, value: object) -> Iterator[str]:
    """An option as typed: a switch, a flag with a value, or one flag per name."""
    if value is True:
        yield flag
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from (flag, f"{name}={_text(flag, each)}")
    else:
        yield from (flag, _text(flag, value))


def _text(flag: str, value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return {"--shape": "x", "--range": ":"}.get(flag, ",").join(map(str, value))
    return str(value)
