"""Whether two sides of a check agree, in plain words."""

from __future__ import annotations

from onnxperf.records.check import Check, Difference
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, grouped, significant


def check_answer(check: Check) -> str:
    """Answer whether both sides agree, and where the difference begins."""
    wrong = [output.name for output in check.outputs if not output.equal]
    if not wrong:
        return f"{check.first} and {check.second} agree on {count(len(check.outputs), 'output')}."
    answer = f"{check.first} and {check.second} differ in {listed(wrong)}."
    node = check.node
    if node is None:
        return answer
    place = f"node {node.index} ({node.operator}{f' {node.name!r}' if node.name else ''})"
    return f"{answer} The first node that differs is {place}, in its output {node.difference.name!r}."


def difference_text(difference: Difference) -> str:
    """How an output differs."""
    if difference.reason:
        return f"output {difference.name}: {difference.reason}"
    elements = f"{grouped(difference.differing)} of {count(difference.elements, 'element')}"
    most = "" if difference.max_absolute is None else f", by up to {significant(difference.max_absolute)}"
    return f"output {difference.name}: {elements} {'differs' if difference.differing == 1 else 'differ'}{most}"
