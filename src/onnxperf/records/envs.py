"""Environments in which workers can run: interpreters with their packages."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.base import Findings
from onnxperf.records.numbers import Count


class Environment(Struct, frozen=True, kw_only=True):
    """A Python interpreter with its packages."""

    name: str
    """As requested: packages with their versions, or the path of an interpreter."""
    python: str
    """Path of the interpreter."""
    python_version: str
    """Version of Python; empty where the interpreter was not started."""
    packages: dict[str, str]
    """Versions that were resolved: the requested packages, runtimes, and what a worker needs."""
    created: str | None = None
    """When it was built: ISO 8601, UTC; null for an interpreter given by its path."""
    used: str | None = None
    """When it was last used: ISO 8601, UTC."""
    size_bytes: Count | None = None
    """Size of its files."""


class Environments(Findings, frozen=True, kw_only=True):
    """What `onnxperf envs` lists."""

    environments: tuple[Environment, ...] = ()
    """Sorted by name."""
