"""Start the process that reads models while the command line is imported: both take equally long."""

from __future__ import annotations

from collections.abc import Sequence

_READ_AT_ONCE = frozenset({"bench", "check", "diff", "memory", "optimize", "profile", "stack", "view"})
"""Commands that open models first."""


def head_start(arguments: Sequence[str]) -> None:
    """Start the reader if the command is about to open a model."""
    is_command = bool(arguments) and arguments[0] in _READ_AT_ONCE
    if is_command and any(each.endswith(".onnx") for each in arguments[1:]) and "--help" not in arguments:
        from onnxperf.measure.model_reader import start_reader

        start_reader()
