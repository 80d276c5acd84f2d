"""More threads than the nodes of a model can use."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, microseconds, share_percent

_SHORT_US = 200.0
"""Shorter nodes have little work to divide among threads."""
_LEAST_SHARE = 0.2


def find(facts: Facts) -> Iterator[Hazard]:
    """Several threads while much of the time is spent in short nodes."""
    threads = facts.session.threads or facts.cores
    short = [node for node in facts.profile.nodes if node.usual_us < _SHORT_US]
    share = facts.share_of(short)
    if threads < 2 or share < _LEAST_SHARE:
        return
    numbers = [number for number in dict.fromkeys((1, facts.cores // 2)) if 0 < number < threads]
    yield Hazard(
        kind="surplus-threads",
        title="surplus threads",
        evidence=f"the session has {count(threads, 'thread')}, and {count(len(short), 'node')} of less than "
        f"{microseconds(_SHORT_US)} each take {share_percent(share)} of an inference: little work to divide",
        remedy="use fewer threads",
        nodes=tuple(node.name for node in short),
        share=share,
        trials=tuple(Trial(name=f"threads={each}", settings={"threads": str(each)}) for each in numbers),
    )
