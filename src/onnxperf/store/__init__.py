"""Runs that outlive their process: SQLite in the user's data directory, or PostgreSQL."""

from onnxperf.store.connect import is_missing, place_of
from onnxperf.store.database import Store, open_store
from onnxperf.store.rows import Trouble

__all__ = ["Store", "Trouble", "is_missing", "open_store", "place_of"]
