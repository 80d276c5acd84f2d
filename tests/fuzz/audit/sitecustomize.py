"""Imported by every interpreter that has this folder on its path: reports what no untrusted data may cause."""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any

_REPORT = os.environ.get("ONNXPERF_AUDIT")
_HOSTILE = os.environ.get("ONNXPERF_HOSTILE", "/nowhere")
"""The folder of the hostile files: nothing in it may run."""

_ALWAYS = frozenset(
    (
        "pickle.find_class",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "pty.spawn",
        "marshal.loads",
    )
)
_INTERPRETER = "the interpreter, for the script that it was given"
_IMPORTS = (
    _INTERPRETER,
    "_frozen_importlib",
    "_frozen_importlib_external",
    "importlib._bootstrap",
    "importlib._bootstrap_external",
    "zipimport",
    "pkgutil",
    "runpy",
)
"""What reads the code of modules; from which files is looked at when it runs."""
_GENERATORS = {
    "ast": "literals, as in the head of a .npy file; what is compiled is never run",
    "onnxperf.runtimes.numpy.compile": "the numpy runtime's own source, in which no name of a model is",
    "dataclasses": "methods of classes of the libraries",
    "collections": "named tuples of the libraries",
    "attr": "methods of classes of the libraries",
    "typing": "annotations in the source of the libraries",
    "annotationlib": "annotations in the source of the libraries",
    "inspect": "signatures in the source of the libraries",
    "decorator": "wrappers of functions of the libraries",
    "sqlalchemy": "functions that sqlalchemy writes for its own classes",
    "sympy": "the libraries' own",
    "numpy": "numpy's own definitions, when it is imported",
    "cyclopts": "annotations of commands",
    "re": "patterns",
}
"""Modules that make code from texts of their own, and why that is no danger."""


def _module(depth: int) -> str:
    """The module that caused an event; the interpreter itself has no frame."""
    try:
        return str(sys._getframe(depth).f_globals.get("__name__", ""))
    except ValueError:
        return _INTERPRETER


def _is_library(module: str, names: Any) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)


def _problem(event: str, arguments: tuple[Any, ...], module: str) -> str:
    """What is wrong with an event; empty where nothing is."""
    if event == "marshal.loads":
        return "" if _is_library(module, _IMPORTS) else "marshal"
    if event in _ALWAYS:
        return str(arguments)[:200]
    if event == "subprocess.Popen":
        program = os.fsdecode(arguments[0] or "").rpartition("/")[2]
        return str(arguments[1])[:200] if program in ("sh", "bash", "dash", "cmd.exe") else ""
    if event == "exec":
        code = arguments[0]
        file = code.co_filename if isinstance(code, CodeType) else ""
        if file.startswith(_HOSTILE):
            return f"code of {file}"
        imported = file.startswith(("/", "<frozen"))
        return "" if imported or _is_library(module, _GENERATORS) else f"{file} in {module}"
    if event == "compile":
        return "" if _is_library(module, (*_IMPORTS, *_GENERATORS)) else f"compile in {module}: {arguments[0]!r:.100}"
    return ""


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _WATCHED:
        problem = _problem(event, arguments, _module(2))
        if problem:
            report = os.open(str(_REPORT), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(report, f"{event}: {problem}\n".encode("utf-8", "replace"))
            os.close(report)


_WATCHED = _ALWAYS | {"subprocess.Popen", "exec", "compile"}
if _REPORT:
    sys.addaudithook(_hook)
