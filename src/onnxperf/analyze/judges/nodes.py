"""Times of the same cases on several cluster nodes: medians, without verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from onnxperf.records.race import Case
from onnxperf.records.sweep import NodeComparison, NodeTimes, time_of
from onnxperf.wording.names import dims_text, name_of
from onnxperf.wording.numbers import count, ratio

_NO_VERDICT = "nodes are measured in separate races, not in turn: these ratios have no intervals and are not verdicts"


def compare_nodes(cases: Sequence[Case]) -> NodeComparison | None:
    """Every subject on every node; None if no case ran on several nodes."""
    found: dict[tuple[str, str, str], NodeTimes] = {}
    for case in cases:
        for subject in case.subjects:
            time = time_of(subject)
            if case.node and time is not None:
                model = case.model.removesuffix(f" @{case.node}")
                key = (model, dims_text(case.dims), subject.name)
                row = found.setdefault(key, NodeTimes(model, case.dims, subject.name, {}))
                found[key] = row._replace(times={**row.times, case.node: time})
    rows = list(found.values())
    if not any(len(row.times) > 1 for row in rows):
        return None
    nodes = list(dict.fromkeys(node for row in rows for node in row.times))
    return NodeComparison(nodes, rows, [*_lines(nodes, rows), _NO_VERDICT])


def _lines(nodes: Sequence[str], rows: Sequence[NodeTimes]) -> list[str]:
    """A sentence for every node except the first."""
    first, *others = nodes
    lines = []
    for node in others:
        ratios = [found for row in rows if (found := row.ratio(node, first)) is not None]
        if ratios:
            rest = f" (median of {count(len(ratios), 'ratio')}, {ratio(min(ratios))} to {ratio(max(ratios))})"
            times = f"{ratio(median(ratios))} as long as on {name_of(first)}"
            lines.append(f"On {name_of(node)} a call takes {times}{rest if len(ratios) > 1 else ''}.")
    return lines
