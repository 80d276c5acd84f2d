"""The source of the package, for tests that read it: every file is parsed once."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import onnxperf

HOUSE = Path(onnxperf.__file__).parent
FILES = sorted(HOUSE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The name of a file within the package."""
    return path.relative_to(HOUSE).as_posix()


def offenders(files: Iterable[Path], faults: Callable[[Path], object]) -> dict[str, object]:
    """The files in which something is found, with what it is."""
    found = {name_of(path): faults(path) for path in files}
    return {name: fault for name, fault in found.items() if fault}
