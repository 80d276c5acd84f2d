"""Groups of original nodes in words, which pages of a profile, a diff and an optimization share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from onnxperf.records.diff import Diff, DiffRow
from onnxperf.records.profile import SourceGroup
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count

TIMELESS = {
    "folded": "Folded, computed once when the model is loaded",
    "duplicate": "Duplicates of another node",
    "removed": "Removed, without effect",
}
"""Kinds of groups that cost nothing in an inference."""


def timeless_lines(groups: Iterable[SourceGroup]) -> list[str]:
    """A line for each way in which original nodes cost nothing, with their number and the first names."""
    by_kind: dict[str, list[str]] = {}
    for group in groups:
        by_kind.setdefault(group.kind, []).extend(gone(group))
    return [
        f"{words}: {count(len(names), 'node')} ({first_of(names)})"
        for kind, words in TIMELESS.items()
        if (names := by_kind.get(kind))
    ]


def gone(group: SourceGroup) -> list[str]:
    """Original nodes that are not executed; a duplicate with the kept node."""
    same = f" = {name_of(group.same_as)}" if group.same_as else ""
    return [f"{inside(group)}{name_of(name)}{same}" for name in group.sources]


def inside(group: SourceGroup | DiffRow) -> str:
    """The nodes whose bodies it is in, as the start of its name."""
    return "".join(f"{name_of(name)} > " for name in group.path)


def side_names(diff: Diff) -> tuple[str, str]:
    """What the sides are: models, levels or values of a setting; before and after if nothing sets them apart."""
    sides = diff.before, diff.after
    names = [side.model for side in sides]
    levels = [f"{side.model}, {side.session.opt_level}" if side.session else side.model for side in sides]
    first, second = next((pair for pair in (names, levels) if pair[0] != pair[1]), ("before", "after"))
    setting = first.partition("=")[0]
    if setting and first.count("=") == second.count("=") == 1 and second.startswith(f"{setting}="):
        return first.removeprefix(f"{setting}="), second.removeprefix(f"{setting}=")
    return first, second


def members(ops: Sequence[str], names: Sequence[str]) -> str:
    """Operators, equal ones counted, and names: `Conv + 2 Relu: n3, n4, n5`."""
    counted = Counter(map(name_of, ops)).items()
    listing = " + ".join(op if times == 1 else f"{times} {op}" for op, times in counted)
    return f"{listing}: {', '.join(map(name_of, names))}"
