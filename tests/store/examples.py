"""Benches of every shape that hypothesis can make, and a look into a store."""

from __future__ import annotations

from hypothesis import strategies as st
from sqlalchemy import text

from onnxperf.records.race import Bench, Block, Case, Subject
from onnxperf.store import Store
from tests.render.examples import NASTY_NAMES, machine

COUNTS, AMOUNTS = st.integers(0, 10**18), st.floats(0, 1e18)
BLOCKS = st.lists(
    st.builds(
        Block,
        round=COUNTS,
        position=COUNTS,
        launch=COUNTS,
        set_up=COUNTS,
        calls=st.integers(1, 10**18),
        start_ns=COUNTS,
        duration_ns=COUNTS,
        quickest_ns=st.none() | AMOUNTS,
        cpu_ns=st.none() | COUNTS,
        span_ns=st.none() | COUNTS,
    ),
    max_size=5,
).map(tuple)
TIMES = st.lists(COUNTS, max_size=5).map(tuple)
# Surrogates: file names that are not UTF-8 reach records as they are.
TEXTS = st.one_of(st.sampled_from((*NASTY_NAMES, "a\0b")), st.text(max_size=5))
NUMBERS = st.none() | AMOUNTS
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXTS

SUBJECTS = st.builds(
    Subject,
    name=TEXTS,
    model=st.none() | TEXTS,
    runtime=TEXTS,
    call=st.none() | TEXTS,
    status=st.sampled_from(["ok", "failed", "oom"]),
    reason=TEXTS,
    load_ns=st.none() | COUNTS,
    blocks=BLOCKS,
    call_ns=TIMES,
    conditions=st.dictionaries(TEXTS, SCALARS, max_size=2),
    mean_ns=NUMBERS,
    speedup=NUMBERS,
    verdict=st.sampled_from([None, "baseline", "faster"]),
)
CASES = st.builds(
    Case,
    model=TEXTS,
    fingerprint=st.dictionaries(TEXTS, TEXTS, max_size=2),
    dims=st.dictionaries(TEXTS, st.integers(0, 2**40), max_size=2),
    shapes=st.dictionaries(TEXTS, st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2),
    status=st.sampled_from(["ok", "failed"]),
    baseline=st.none() | TEXTS,
    interrupted=st.booleans(),
    notes=st.lists(TEXTS, max_size=2).map(tuple),
    answer=TEXTS,
    subjects=st.lists(SUBJECTS, max_size=2, unique_by=lambda each: each.name).map(tuple),
)
BENCHES = st.builds(Bench, machine=st.just(machine()), command=TEXTS, cases=st.lists(CASES, max_size=3).map(tuple))


def sql(store: Store, statement: str, **values: object) -> list[tuple[object, ...]]:
    """The rows that a statement finds in a store."""
    with store.writing() as connection:
        result = connection.execute(text(statement), values)
        return [tuple(row) for row in result] if result.returns_rows else []
