"""Runs as the store lists them, and what comparing two of them says."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from onnxperf.records.base import Document, Findings
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count

RunStatus = Literal["running", "ok", "differs", "failed", "timeout", "oom", "crashed", "interrupted"]

COMMIT, BRANCH, DIRTY = "commit", "branch", "dirty"
"""Tags that a run in a Git repository has."""
COMMIT_LENGTH = 12
"""Characters of a commit that are kept, and that are compared."""


class KeptRun(Struct, frozen=True, kw_only=True):
    """One run in the store, without what it measured."""

    id: str
    """Its short name."""
    kind: str
    """What was done: bench, sweep, profile, check, einsum…"""
    record: str
    """Which record it holds: Bench, Profile, Check…"""
    command: str
    """The command line, or the call in Python."""
    started: str
    """When it began: ISO 8601, UTC."""
    finished: str | None = None
    """When it ended; null if it did not, or not yet."""
    status: RunStatus = "running"
    """How it ended; interrupted if its process ended before the run did."""
    cases: Count = 0
    """Cases that it has, or will have."""
    cases_done: Count = 0
    """Cases that are neither pending nor running."""
    topic: str = ""
    """What was measured: labels of models, an equation or a function."""
    answer: str = ""
    """The result in one plain sentence."""
    options: dict[str, Any] = {}
    """What was requested."""
    tags: dict[str, str] = {}
    """Names and values that were given to it; in a Git repository, also its commit and its branch."""


class KeptRuns(Document, frozen=True, kw_only=True):
    """What `onnxperf runs` lists."""

    runs: tuple[KeptRun, ...] = ()
    """The newest first."""
    chosen: tuple[str, ...] = ()
    """What they were chosen by, such as kind=bench."""


class ComparedSubject(Struct, frozen=True, kw_only=True):
    """A subject in two runs; the first run is what the second is compared with."""

    first: str
    """Its name in the first run."""
    second: str
    """Its name in the second run."""
    model: str = ""
    """Label of the model of its case in the first run."""
    dims: dict[str, Count] = {}
    """Dimensions of its case."""
    first_ns: Amount | None = None
    """Time of a call in the first run."""
    second_ns: Amount | None = None
    """Time of a call in the second run."""
    yardstick: str | None = None
    """Name of the subject that both runs share and that both times were divided by; null if there is none."""
    speedup: Amount | None = None
    """First time / second time, each divided by the yardstick's of its own run: above 1, the second is faster."""
    speedup_low: Amount | None = None
    """Lower end of the 95 % interval, widened for several subjects."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """What the interval says of the second run; baseline for the yardstick itself, null without one."""
    reason: str = ""
    """Why there is no verdict, or what weakens it."""


class RunComparison(Findings, frozen=True, kw_only=True):
    """What `onnxperf runs compare` found."""

    first: str
    """Id of the first run."""
    second: str
    """Id of the second run."""
    rows: tuple[ComparedSubject, ...] = ()
    """One per subject that both runs have."""
