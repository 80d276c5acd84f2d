"""Throughput of subjects."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.records.race import Case, Subject
from onnxperf.records.sweep import item_dim, time_of


def rate(case: Case, subject: Subject | None) -> float | None:
    """Items per second by the undisturbed time; calls per second if the case has no batch dimension."""
    ns, dim = time_of(subject), item_dim(case.dims)
    return None if ns is None else (1 if dim is None else case.dims[dim]) * 1e9 / ns


def with_rates(case: Case) -> Case:
    """The case with the throughput of every measured subject."""
    return replace(case, subjects=tuple(replace(each, items_per_s=rate(case, each)) for each in case.subjects))
