"""Environments for workers: Python interpreters with their packages."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.numbers import Count


class Environment(Struct, frozen=True, kw_only=True):
    """A Python interpreter with its packages."""

    name: str
    """Name as requested: packages with versions, or the path of an interpreter."""
    python: str
    """Path of the interpreter."""
    python_version: str
    """Python version; empty if the interpreter was not started."""
    packages: dict[str, str]
    """Resolved versions of the requested packages, the runtimes, and the packages that workers need."""
    created: str | None = None
    """Build time: ISO 8601, UTC; null for an interpreter given by path."""
    used: str | None = None
    """Time of last use: ISO 8601, UTC."""
    size_bytes: Count | None = None
    """Size on disk."""


class Environments(Findings, frozen=True, kw_only=True):
    """Result of `onnxperf envs`."""

    environments: tuple[Environment, ...] = ()
    """Environments, sorted by name."""
