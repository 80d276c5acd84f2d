"""Subjects made of synthetic blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from onnxperf.analyze.judges.comparison import compare
from onnxperf.records.race import Block, Case, Measurement, Subject


def blocks_of(
    times_ns: Sequence[float], calls: int = 1000, launches: int = 6, first_round: int = 0, set_ups: int | None = None
) -> tuple[Block, ...]:
    """Blocks whose calls took these times; set-ups are counted over the whole race, and one per launch unless given."""
    rounds, set_ups = len(times_ns), set_ups or launches
    per_launch = set_ups // launches
    return tuple(
        Block(
            round=first_round + number,
            position=0,
            launch=number * launches // rounds,
            set_up=number * set_ups // rounds % per_launch,
            calls=calls,
            start_ns=number,
            duration_ns=round(calls * each),
        )
        for number, each in enumerate(times_ns)
    )


def subject(
    name: str,
    times_ns: Sequence[float] = (),
    launches: int = 6,
    calls: int = 1000,
    set_ups: int | None = None,
    **fields: Any,
) -> Subject:
    """A subject as a race leaves it."""
    fields = {"status": "ok", "looks": 1, "looks_planned": 1, **fields}
    return Subject(name=name, blocks=blocks_of(times_ns, calls, launches, set_ups=set_ups), **fields)


def raced(
    slower: Mapping[str, float], noise: float = 0.01, rounds: int = 48, launches: int = 8, seed: int = 0, **fields: Any
) -> Case:
    """A judged race of subjects whose times are those of the first, 100 us, times a factor; the first is 1."""
    rng = np.random.default_rng(seed)
    times = {name: 100e3 * factor * np.exp(rng.normal(0, noise, rounds)) for name, factor in slower.items()}
    subjects = [subject(name, list(each), launches) for name, each in times.items()]
    return judged(subjects, **fields)


def judged(subjects: Sequence[Measurement], min_effect: float = 0.01, **fields: Any) -> Case:
    """A race of these, of which the first is the baseline."""
    baseline = subjects[0].name
    found = compare(subjects, baseline, min_effect)
    return Case(model="m", baseline=baseline, min_effect=min_effect, subjects=found, **fields)


def varying(pieces: float, calls: float, noise: float = 0.002, min_effect: float = 0.01) -> Case:
    """A race whose new model is slower by one factor in its quickest pieces, and by another in all calls."""
    rng = np.random.default_rng(3)
    subjects = []
    for name, quick, whole, spread in (("baseline", 1.0, 1.0, 0.002), ("new", pieces, calls, noise)):
        own = subject(name, list(100e3 * whole * np.exp(rng.normal(0, spread, 48))), 8)
        quickest = 98e3 * quick * np.exp(rng.normal(0, 0.002, 48))
        blocks = [replace(block, quickest_ns=float(each)) for block, each in zip(own.blocks, quickest, strict=True)]
        subjects.append(replace(own, blocks=tuple(blocks)))
    return judged(subjects, min_effect)


def with_threads(made: Subject, free: Sequence[int]) -> Subject:
    """A subject of two threads with so many undisturbed pieces in each block."""
    blocks = tuple(replace(block, free_pieces=pieces) for block, pieces in zip(made.blocks, free, strict=True))
    return replace(made, blocks=blocks, conditions={"threads": 2})
