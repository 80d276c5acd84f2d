"""Sweeps: conclusions about many cases, and lookups for tables and charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeGuard

from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject

NOT_RUN = "not run"
_BATCHES = ("N", "n")


class Duel(NamedTuple):
    """A rival compared with a baseline in one case; without a speedup, `word` gives the reason."""

    speedup: float | None
    verdict: Verdict | None
    word: str = ""
    low: float | None = None
    """Lower end of the 95 % confidence interval, if the case itself compared the two."""
    high: float | None = None
    """Upper end of that interval."""
    reason: str = ""
    """Why the verdict is `undecided`."""

    @property
    def decided(self) -> bool:
        """Whether one of them won."""
        return self.verdict in ("faster", "slower")


class SweepRow(NamedTuple):
    """A case of a sweep and its conclusions."""

    case: Case
    against: str | None
    """Baseline of most cases; if that has no time in this case, the case's own."""
    duels: Mapping[str, Duel]
    """Comparison of every other subject of the case with it."""
    rival: str | None
    """The best of these; one proven faster comes before one that only seems faster."""
    first: frozenset[str]
    """Subjects not proven slower than any other; empty if that would be all."""
    rate: float | None
    """Items per second of the fastest subject."""

    @property
    def duel(self) -> Duel:
        """Comparison of the best rival with the baseline."""
        return Duel(None, None) if self.rival is None else self.duels[self.rival]

    @property
    def winner(self) -> str | None:
        """The best rival if its verdict is `faster`; the baseline if every rival is `slower`."""
        if self.duel.verdict == "faster":
            return self.rival
        # The best rival is slower only if all are.
        return self.against if self.duel.verdict == "slower" else None


class Estimate(NamedTuple):
    """Estimated duration of a sweep, in seconds."""

    racing_s: float
    """Racing all cases."""
    starting_s: float
    """Starting, loading and warming up at every launch."""
    building_s: float
    """Building each zoo model once."""

    @property
    def total_s(self) -> float:
        """Total duration."""
        return sum(self)


class NodeStep(NamedTuple):
    """Progress of a cluster node."""

    node: str
    case: str
    done: float
    """Completed share of the case, from 0 to 1."""
    text: str


class NodeTimes(NamedTuple):
    """Times of the same subject of the same case on several nodes."""

    model: str
    dims: Mapping[str, int]
    subject: str
    times: Mapping[str, float]
    """Node -> median in nanoseconds, for nodes that measured it."""

    def ratio(self, node: str, first: str) -> float | None:
        """Time on a node / time on the first node."""
        return self.times[node] / self.times[first] if node in self.times and first in self.times else None


class NodeComparison(NamedTuple):
    """Cases that ran on each of several nodes."""

    nodes: Sequence[str]
    rows: Sequence[NodeTimes]
    lines: Sequence[str]
    """Conclusions from all rows, and their limits."""


class SweepModel(NamedTuple):
    """The cases of one model and their conclusions."""

    model: str
    baseline: str | None
    """The baseline of most cases."""
    rivals: Sequence[str]
    rows: Sequence[SweepRow]
    reasons: Sequence[str]
    """Why times are missing, and why rivals are undecided when another subject wins."""
    winners: Sequence[str]
    """Which subject is fastest in which cases, and by how much."""
    undecided: Sequence[str]
    """Cases without a winner, and why."""
    notes: Sequence[str]
    """Notes on how to read the result, with the number of cases they apply to."""

    @property
    def cases(self) -> list[Case]:
        """The cases, in order."""
        return [row.case for row in self.rows]


class SweepPanel(NamedTuple):
    """Cases shown on one pair of axes, and the dimensions that vary (at most two)."""

    title: str
    cases: Sequence[Case]
    dims: Sequence[str]
    pair: tuple[str, str] | None = None
    """Baseline and rival, if there are two subjects to compare."""
    duels: Mapping[tuple[int, int], Duel] = MappingProxyType({})
    """Comparison of these two at each pair of sizes."""


# ---------------------------------------------------------------- dimensions


def by_model(cases: Sequence[Case]) -> dict[str, list[Case]]:
    """The cases of each label, in order."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.model, []).append(case)
    return groups


def dims_of(cases: Sequence[Case]) -> list[str]:
    """Names of all dimensions, in order of first occurrence."""
    return list(dict.fromkeys(name for case in cases for name in case.dims))


def item_dim(dims: Iterable[str]) -> str | None:
    """The dimension that counts the items of a call: one named batch or N, or an unnamed first axis; else None."""
    return next(
        (dim for dim in dims if dim.lower().startswith("batch") or dim in ("N", "n") or dim.endswith(".0")), None
    )


def rate_unit(cases: Sequence[Case]) -> str:
    """Unit of throughput."""
    return "items/s" if any(item_dim(case.dims) is not None for case in cases) else "calls/s"


def values_of(cases: Sequence[Case], dim: str) -> list[int]:
    """Sizes of a dimension, in ascending order."""
    return sorted({case.dims[dim] for case in cases if dim in case.dims})


def varying(cases: Sequence[Case]) -> list[str]:
    """Dimensions with several sizes."""
    return [dim for dim in dims_of(cases) if len(values_of(cases, dim)) > 1]


def cells_of(cases: Sequence[Case], rows: str, columns: str) -> dict[tuple[int, int], Case]:
    """The case at each pair of sizes."""
    return {(case.dims[rows], case.dims[columns]): case for case in cases if rows in case.dims and columns in case.dims}


# ---------------------------------------------------------------- subjects


def subjects_of(cases: Sequence[Case]) -> list[str]:
    """Names of all subjects, in order of first occurrence."""
    return list(dict.fromkeys(subject.name for case in cases for subject in case.subjects))


def subject_in(case: Case, name: str) -> Subject | None:
    """The subject of that name."""
    return next((subject for subject in case.subjects if subject.name == name), None)


def time_of(subject: Subject | None) -> float | None:
    """Time of a call in nanoseconds, if the subject was measured and its outputs agree."""
    return None if subject is None or subject.status != "ok" else _sound(subject.time_ns)


def measured(subject: Subject | None) -> TypeGuard[Subject]:
    """Whether a subject can be compared: it has a time, and its outputs agree."""
    return time_of(subject) is not None


def time_interval(subject: Subject | None) -> tuple[float, float] | None:
    """Both ends of the 95 % confidence interval of that time, if any."""
    if subject is None or time_of(subject) is None:
        return None
    low, high = subject.time_low_ns, _sound(subject.time_high_ns)
    return None if low is None or high is None or not math.isfinite(low) else (max(low, 0.0), high)


def _sound(ns: float | None) -> float | None:
    return ns if ns is not None and math.isfinite(ns) and ns > 0 else None


def word_of(case: Case, subject: Subject | None) -> str:
    """Why a subject has no time in a case; empty if it has one."""
    if subject is None:
        return case.status if not case.subjects and case.status not in ("ok", "pending") else NOT_RUN
    return "" if subject.status == "ok" else subject.status
