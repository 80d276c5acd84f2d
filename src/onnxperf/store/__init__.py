"""Stored runs, which outlive their process: in SQLite in the user's data directory, or in PostgreSQL."""

from onnxperf.store.bundle import damaged_runs, open_bundle, write_bundle
from onnxperf.store.connect import is_missing, location, place_of
from onnxperf.store.database import Store, open_store
from onnxperf.store.portable import (
    AttemptRow,
    CaseRow,
    RunRow,
    begun_attempt,
    begun_run,
    ended_run,
    finished_case,
    lost_case,
    whole_run,
)
from onnxperf.store.rows import Trouble
from onnxperf.store.spool import Spool, waiting

__all__ = [
    "AttemptRow",
    "CaseRow",
    "RunRow",
    "Spool",
    "Store",
    "Trouble",
    "begun_attempt",
    "begun_run",
    "damaged_runs",
    "ended_run",
    "finished_case",
    "is_missing",
    "location",
    "lost_case",
    "open_bundle",
    "open_store",
    "place_of",
    "waiting",
    "whole_run",
    "write_bundle",
]
