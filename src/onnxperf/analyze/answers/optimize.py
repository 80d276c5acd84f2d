"""What an optimization did to a model, in one plain sentence."""

from __future__ import annotations

from onnxperf.records.profile import Optimization
from onnxperf.wording.numbers import count


def optimization_answer(record: Optimization) -> str:
    """Numbers of nodes before and after, fused groups, and the file."""
    before, after = sum(record.before.values()), sum(record.after.values())
    fused = sum(group.kind == "fused" for group in record.groups)
    return f"{count(before, 'node')} became {after}; {count(fused, 'group')} fused; written to {record.output}."
