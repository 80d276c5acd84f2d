"""Outputs of two subjects, matched by name, else by order, or as the user gives it, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxperf.analyze.answers.check import difference_text
from onnxperf.analyze.judges.accuracy import compare_outputs
from onnxperf.errors import BadOption
from onnxperf.records.check import Difference
from onnxperf.records.options import Tolerances

Outputs = tuple[list[str], list[Any]]
"""Names (none where a callable gives none) and values."""


def disagreement(model: Outputs, source: Outputs, tolerances: Tolerances) -> str:
    """How the outputs of a source differ from those of the model; empty where they agree."""
    return "; ".join(difference_text(each) for each in differences(model, source, tolerances) if not each.equal)


def differences(model: Outputs, source: Outputs, tolerances: Tolerances) -> tuple[Difference, ...]:
    """Every pair of matching outputs, compared."""
    pairs = matched(model, source, tolerances.match)
    names, ours, theirs = ([pair[place] for pair in pairs] for place in range(3))
    return compare_outputs(names, ours, theirs, tolerances.rtol, tolerances.atol)


def matched(model: Outputs, source: Outputs, match: Mapping[str, str | int]) -> list[tuple[str, Any, Any]]:
    """Pairs of outputs: as given, by name where the source has the names, else in order as far as both go."""
    names, values = model
    if match:
        return [(name, values[_place(name, names)], _output(source, wanted)) for name, wanted in match.items()]
    shared = [name for name in names if name in source[0]]
    if shared:
        return [(name, values[names.index(name)], source[1][source[0].index(name)]) for name in shared]
    return list(zip(names, values, source[1], strict=False))


def _place(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise BadOption.unknown("output in `match`", name, names, option="match")
    return list(names).index(name)


def _output(source: Outputs, wanted: str | int) -> Any:
    names, values = source
    if isinstance(wanted, str) and wanted in names:
        return values[names.index(wanted)]
    text = str(wanted)
    if text.isascii() and text.isdigit() and int(text) < len(values):
        return values[int(text)]
    raise BadOption.unknown("output of the source in `match`", wanted, names or range(len(values)), option="match")
