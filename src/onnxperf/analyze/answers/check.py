"""Whether two sides of a check agree, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from onnxperf.records.check import Check, Difference
from onnxperf.records.options import OptLevel
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, grouped, significant

LEVELS: tuple[OptLevel, ...] = get_args(OptLevel)
"""Optimisation levels of onnxruntime, each with what the ones before it do."""

NO_NODE = "the node is not known: the two sides share no tensor name where they differ"


def check_answer(check: Check) -> str:
    """Answer whether both sides agree, and where the difference begins."""
    if check.undecided:
        return f"Undecided: {check.undecided}."
    wrong = [output for output in check.outputs if not output.equal]
    if wrong:
        answer = f"{check.first} and {check.second} differ in {listed(output.name for output in wrong)}."
    else:
        answer = f"{check.first} and {check.second} agree on {count(len(check.outputs), 'output')}{_how_far(check)}."
    return " ".join(filter(None, [answer, _about_nodes(check)]))


def _about_nodes(check: Check) -> str:
    """Where a difference begins, as far as nodes were compared."""
    node = check.node
    if node is not None:
        place = f"node {node.index} ({node.operator}{f' {node.name!r}' if node.name else ''})"
        found = f"{place} is the first whose output is not within the tolerances ({difference_text(node.difference)})"
        return f"Inside, {found}; the outputs are." if check.equal else f"{found[0].upper()}{found[1:]}."
    if not check.walked or check.equal:
        return ""
    agrees = "Every node agrees once intermediates are outputs"
    if check.level is None:
        return f"{agrees}."
    if check.level == LEVELS[0]:
        return f"{agrees}, and the outputs also differ without onnxruntime's optimizations."
    before = LEVELS[LEVELS.index(check.level) - 1]
    changes = f"an optimization of onnxruntime changes the result, first at level {check.level}"
    return f"{agrees}: {changes}. With `opt_level={before}`, {check.first} and {check.second} agree."


def _how_far(check: Check) -> str:
    """Whether outputs that agree are the same, or only within the tolerances."""
    most = max((output.max_absolute or 0.0 for output in check.outputs), default=0.0)
    return f" within the tolerances, the largest difference is {significant(most)}" if most else " exactly"


def difference_text(difference: Difference) -> str:
    """How an output differs."""
    if difference.reason:
        return f"output {difference.name}: {difference.reason}"
    most = f", by {'' if difference.differing == 1 else 'up to '}{significant(difference.differs_by or 0.0)}"
    elements = f"{grouped(difference.differing)} of {count(difference.elements, 'element')}"
    where = f" at {difference.differs_at}" if difference.differs_at else ""
    verb = "differs" if difference.differing == 1 else "differ"
    return f"output {difference.name}: {elements} {verb}{most if difference.differs_by else ','}{where}".rstrip(",")


def about_differences(reference: str, differing: Mapping[str, str]) -> str:
    """Which subjects of a race do not compute what the others are compared with, and how they differ from it."""
    return " ".join(f"{name} does not compute what {reference} does: {reason}." for name, reason in differing.items())


def not_compared(name: str, reference: str, why: str) -> str:
    """Why the outputs of a subject say nothing about its equality."""
    return f"outputs of {name} were not compared with those of {reference}: {why}"


def draws_random_numbers(name: str, operators: Sequence[str]) -> str:
    """Why the outputs of a model say nothing about its equality, known without a call."""
    return f"{name} draws random numbers ({listed(operators)}), so its outputs differ from call to call"


def not_deterministic(name: str, made: bool = False) -> str:
    """Why outputs that differ are no difference between subjects; `made` where a source differs when made again."""
    if made:
        return (
            f"{name} is not deterministic: the function that makes it returns a different one at every call; set a seed"
        )
    return f"{name} is not deterministic: two calls on the same inputs give different outputs"
