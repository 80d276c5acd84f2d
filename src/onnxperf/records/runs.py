"""Runs as listed by the store, and comparisons of two runs."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from onnxperf.records.base import Document, Findings
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count

RunStatus = Literal["running", "ok", "differs", "failed", "timeout", "oom", "crashed", "interrupted"]

COMMIT, BRANCH, DIRTY = "commit", "branch", "dirty"
"""Tags of runs in a Git repository."""
COMMIT_LENGTH = 12
"""Number of characters of a commit hash that are stored and compared."""


class KeptRun(Struct, frozen=True, kw_only=True):
    """One run in the store, without its measurements."""

    id: str
    """Short id."""
    kind: str
    """Kind of run: bench, sweep, profile, check, einsum…"""
    record: str
    """Type of its record: Bench, Profile, Check…"""
    command: str
    """Command line or Python call."""
    started: str
    """Start time: ISO 8601, UTC."""
    finished: str | None = None
    """End time: ISO 8601, UTC; null if it has not ended."""
    status: RunStatus = "running"
    """Status; interrupted if its process ended before the run did."""
    cases: Count = 0
    """Total number of cases."""
    cases_done: Count = 0
    """Number of cases that are neither pending nor running."""
    topic: str = ""
    """Subject of the run: labels of models, an equation or a function."""
    answer: str = ""
    """The result in one plain sentence."""
    time_ns: Amount | None = None
    """Time of the fastest subject; null if the run is not a race of one case."""
    speedup: Amount | None = None
    """Largest speedup over the baseline; null without a rival."""
    verdict: str = ""
    """Verdict on the subject with that speedup."""
    options: dict[str, Any] = {}
    """Requested options."""
    tags: dict[str, str] = {}
    """User-defined tags; in a Git repository, also its commit and branch."""


class KeptRuns(Document, frozen=True, kw_only=True):
    """Result of `onnxperf runs`."""

    runs: tuple[KeptRun, ...] = ()
    """Runs, newest first."""
    chosen: tuple[str, ...] = ()
    """Filters of the list, such as kind=bench."""


class ComparedSubject(Struct, frozen=True, kw_only=True):
    """A subject in two runs; the first run is the baseline."""

    first: str
    """Name in the first run."""
    second: str
    """Name in the second run."""
    model: str = ""
    """Label of the model in the first run."""
    dims: dict[str, Count] = {}
    """Dimensions of the case."""
    first_ns: Amount | None = None
    """Time of a call in the first run, in ns."""
    second_ns: Amount | None = None
    """Time of a call in the second run, in ns."""
    yardstick: str | None = None
    """Name of the common subject by which both times are divided; null if there is none."""
    speedup: Amount | None = None
    """First time / second time, each divided by the yardstick's time in the same run; above 1, the second is faster."""
    speedup_low: Amount | None = None
    """Lower end of the 95 % confidence interval, corrected for the number of subjects."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """Verdict on the second run derived from the interval; baseline for the yardstick itself, null without one."""
    reason: str = ""
    """Why there is no verdict, or a weaker one."""


class RunComparison(Findings, frozen=True, kw_only=True):
    """Result of `onnxperf runs compare`."""

    first: str
    """Id of the first run."""
    second: str
    """Id of the second run."""
    rows: tuple[ComparedSubject, ...] = ()
    """One row per subject in both runs."""
