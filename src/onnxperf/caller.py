"""Who called a public function: Python code, or a typed command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar

R = TypeVar("R")


class Caller(NamedTuple):
    """What a public function needs to know about its caller."""

    command: str = ""
    """The typed command; empty in Python."""
    finishing: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while measurements are saved: a signal must not lose them."""


_PYTHON = Caller()
_CALLER: ContextVar[Caller] = ContextVar("onnxperf_caller", default=_PYTHON)


def caller() -> Caller:
    """Who called."""
    return _CALLER.get()


def with_command(result: R) -> R:
    """The result, with the typed command in its record; any other value is returned unchanged."""
    command = caller().command
    record: Any = getattr(result, "record", None)
    if command and hasattr(record, "command"):
        from msgspec.structs import replace  # help texts do without it

        vars(result)["record"] = replace(record, command=command)
    return result


@contextmanager
def called_by(given: Caller) -> Iterator[None]:
    """Let public functions know who calls them."""
    token = _CALLER.set(given)
    try:
        yield
    finally:
        _CALLER.reset(token)
