"""Every error that onnxperf raises on purpose.

OnnxperfError                 one line: what, which value, what to do
├── BadInput                  the user can fix it: exit code 2
│   ├── BadModel              the file is not a model, is damaged, or needs what this runtime lacks
│   ├── BadFeed               an input's name, type, rank or layout does not fit the model
│   ├── BadOption             an option's value is unknown or contradicts another
│   ├── MissingExtra          an optional library is not installed
│   ├── BrokenLibrary         an optional library is installed, but its import fails
│   ├── LimitExceeded         a worker exceeded its limit of time or memory: exit code 1
│   └── FileNotWritten        a requested file could not be written: exit code 3
├── StoreError                runs cannot be saved or read back; the measurements are not lost
│   └── DamagedRun            one run cannot be read; all others can
├── NotLogged                 a tracking server did not accept a run; the measurements are not lost
└── SubjectError              one subject cannot go on; the others continue
    └── WorkerLost            its process died, hung or was killed
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Literal

_LONGEST_CAUSE = 300
_MOST_LISTED = 100

Ending = Literal["failed", "timeout", "oom", "crashed", "skipped"]

_MASK = "***"
_USER = re.compile(r"://[^:/?#@\s]*:(?=\S)")
"""The part of an address up to its password."""
_PARAMETER = re.compile(r"(?<![\w%.-])([\w%.-]+)=")
_END = re.compile(r"[&#\s]|$")
_SECRET = re.compile("password|passwd|passphrase|pwd", re.IGNORECASE)


def masked(text: str) -> str:
    """The text with *** for every password in an address: shown or stored texts must not contain one."""
    return "\n".join(map(_masked_line, text.split("\n"))) if "=" in text or "@" in text else text


def _masked_line(line: str) -> str:
    """A password may contain any character, even @: everything up to the last @ is masked."""
    user, host = _USER.search(line), line.rfind("@")
    if user is not None and user.end() < host:
        line = f"{line[: user.end()]}{_MASK}{line[host:]}"
    shown, place = "", 0
    for found in _PARAMETER.finditer(line):
        if found.start() < place or not _is_secret(found[1]):
            continue
        shown += line[place : found.end()] + _MASK
        end = _END.search(line, found.end())
        place = end.start() if end is not None else len(line)
    return shown + line[place:]


def _is_secret(name: str) -> bool:
    if "%" in name:
        from urllib.parse import unquote  # every worker imports this module, and hardly any address needs this one

        name = unquote(name)
    return _SECRET.search(name) is not None


class OnnxperfError(Exception):
    """Base class of all errors of this package; the text is one line that says what to do, without passwords."""

    def __init__(self, text: str = "") -> None:
        super().__init__(masked(text))


class BadInput(OnnxperfError):
    """The request cannot be carried out as given."""


class BadModel(BadInput):
    """The model cannot be read or executed."""


class BadFeed(BadInput):
    """An input does not fit the model's signature."""


class BadOption(BadInput):
    """An option has an invalid value, or contradicts another option.

    The text names options in backquotes, such as `time=45`, so that the command line can show --time 45.
    """

    def __init__(self, problem: str = "", *, option: str = "", value: object = None, expected: str = "") -> None:
        self.option = option
        self.value = value
        self.expected = expected
        mention = option if value is None else f"{option}={value}".replace("`", "'")
        wanted = f"expected {expected}" if expected else ""
        text = "; ".join(filter(None, [problem, wanted]))
        super().__init__(f"`{mention}`: {text}" if option else text)

    @classmethod
    def unknown(cls, what: str, value: object, valid: Iterable[object], option: str = "") -> BadOption:
        """An error that shows the wrong value and lists the valid ones."""
        names = [*map(str, valid)]
        rest = len(names) - _MOST_LISTED
        listed = ", ".join(names[:_MOST_LISTED]) + (f" and {rest} more" if rest > 0 else "") or "none"
        error = cls(f"unknown {what} {str(value)!r}; choose from: {listed}")
        error.option, error.value, error.expected = option, value, listed
        return error


class MissingExtra(BadInput):
    """An optional library is needed and not installed."""

    def __init__(self, library: str, extra: str) -> None:
        from onnxperf.installation import install_command  # every worker imports this module, and few lack an extra

        super().__init__(f"{library} is not installed; install it with: {install_command(extra)}")


class BrokenLibrary(BadInput):
    """An optional library is needed and installed, but cannot be imported."""

    def __init__(self, library: str, cause: BaseException) -> None:
        line = " ".join(str(cause).split())
        shown = line if len(line) <= _LONGEST_CAUSE else f"{line[:_LONGEST_CAUSE]}…"
        super().__init__(
            f"{library} cannot be imported: {type(cause).__name__}: {shown}; reinstall it or its dependencies"
        )


def required(module: str, extra: str, library: str = "") -> ModuleType:
    """Import an optional library on first use; if it cannot be imported, the error gives the cause."""
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise unusable(error, extra, library, module) from error


def unusable(error: Exception, extra: str, library: str = "", module: str = "") -> OnnxperfError:
    """The error for a failed import: the library is missing, or it is installed and something else is wrong."""
    if isinstance(error, OnnxperfError):
        return error
    package = (module or library).partition(".")[0]
    if isinstance(error, ModuleNotFoundError) and error.name == package.replace("-", "_"):
        return MissingExtra(library or package, extra)
    return BrokenLibrary(library or package, error)


class LimitExceeded(BadInput):
    """A worker needed more time or memory than the request allows, and without it there is nothing to show."""


class FileNotWritten(BadInput):
    """A file could not be written; the measurements are not lost."""


class StoreError(OnnxperfError):
    """The store of runs cannot be opened, read or written."""


class DamagedRun(StoreError):
    """The record of a run is damaged, or was written by a newer version."""


class NotLogged(OnnxperfError):
    """A run could not be logged to MLflow; the measurements are not lost."""


class SubjectError(OnnxperfError):
    """A subject failed; `status` is the word shown in its row."""

    def __init__(self, status: Ending, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


def refused(error: SubjectError, what: str = "") -> BadInput:
    """The error if a request cannot go on without a subject: the subject's own error, or an exceeded limit."""
    kind = LimitExceeded if error.status in ("timeout", "oom") else BadInput
    return kind(f"{what}: {error}" if what else str(error))


class WorkerLost(SubjectError):
    """The process that hosts a subject is gone; `signal` ended it, and `stderr` is its last output."""

    def __init__(self, status: Ending, reason: str, signal: int | None = None, stderr: str = "") -> None:
        super().__init__(status, reason)
        self.signal = signal
        self.stderr = stderr
