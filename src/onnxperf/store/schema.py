"""The tables as used in queries; `migrations` creates them, and a test compares the two."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

metadata = MetaData()

SUBJECT_NUMBERS = (
    "load_ns",
    "first_call_ns",
    "input_bytes",
    "mean_ns",
    "median_ns",
    "deviation_ns",
    "min_ns",
    "max_ns",
    "p90_ns",
    "p99_ns",
    "speedup",
    "speedup_low",
    "speedup_high",
)
"""Fields of a subject that are also columns, for SQL queries."""
HISTORY_NUMBERS = ("time_ns", "yardstick_ns")
"""Undisturbed times of a subject and of the yardstick of its case."""

versions = Table("onnxperf_schema", metadata, Column("version", Integer, nullable=False))

runs = Table(
    "runs",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("name", Text, nullable=False),  # what people type
    Column("kind", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("started", Text, nullable=False),  # ISO 8601, UTC, like all times here
    Column("finished", Text),
    Column("status", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("owner", Text),
    Column("machine", Text),
    Column("versions", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("record_type", Text, nullable=False),
    Column("record", Text, nullable=False),  # for a Bench: all but machine and cases
    Column("uid", Text, nullable=False),  # the same run in any other store
)

tags = Table(
    "tags",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("run", BigInteger, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("name", Text, nullable=False),
    Column("value", Text, nullable=False),
)

cases = Table(
    "cases",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("run", BigInteger, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("key", Text, nullable=False),
    Column("status", Text, nullable=False),
)

attempts = Table(
    "attempts",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("case", BigInteger, ForeignKey("cases.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),  # from 1
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("signal", Integer),
    Column("stderr_tail", Text, nullable=False),
    Column("started", Text, nullable=False),
    Column("finished", Text),
    Column("machine", Text),
    Column("versions", Text, nullable=False),
    Column("record", Text),  # the Case without its subjects; null until it is finished
    Column("uid", Text),  # identifies an attempt that is rewritten, as the first write may have succeeded
)

subjects = Table(
    "subjects",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("attempt", BigInteger, ForeignKey("attempts.id", ondelete="CASCADE"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("model", Text),
    Column("fingerprint", Text),
    Column("runtime", Text, nullable=False),
    Column("call", Text),
    Column("status", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("verdict", Text),
    *(Column(name, Double) for name in (*SUBJECT_NUMBERS, *HISTORY_NUMBERS)),
    Column("record", Text, nullable=False),  # the Subject without its raw times: authoritative if a column differs
    Column("blocks", LargeBinary, nullable=False),
    Column("call_times", LargeBinary, nullable=False),
    Column("origin", Text),  # distinguishes series of a history without reading records; null if as in the run
)
