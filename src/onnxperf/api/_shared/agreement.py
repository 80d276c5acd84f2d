"""Do the subjects of a race compute the same? Outputs are matched by name, else by order, or as the user says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from onnxperf.analyze.accuracy import compare_outputs
from onnxperf.errors import BadOption
from onnxperf.measure.race import RaceEnd
from onnxperf.records import Difference, Tolerances

Outputs = tuple[list[str], list[Any]]
"""Names (none where a callable gives none) and values."""


def compared(
    end: RaceEnd, label: str, tolerances: Tolerances, plain: Collection[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """Which subjects differ from the model of that label, and how; and notes on `plain` callables that do."""
    outputs = {subject.name: _listed(each) for subject, each in zip(end.subjects, end.outputs, strict=False) if each}
    own = [subject.name for subject in end.subjects if subject.model == label and subject.name in outputs]
    if not own:
        return {}, []
    differing, notes = {}, []
    for subject in end.subjects:
        if subject.name == own[0] or subject.name not in outputs or subject.model not in (None, label):
            continue
        wrong = disagreement(outputs[own[0]], outputs[subject.name], tolerances)
        if wrong and subject.name in plain:
            notes.append(f"{subject.name} returns something else than the model: {wrong}")
        elif wrong:
            differing[subject.name] = wrong
    return differing, notes


def _listed(outputs: tuple[list[str], Any]) -> Outputs:
    names, value = outputs
    return names, value if isinstance(value, list) else [value]


def disagreement(model: Outputs, source: Outputs, tolerances: Tolerances) -> str:
    """How the outputs of a source differ from those of the model; empty where they agree."""
    pairs = matched(model, source, tolerances.match)
    names = [name for name, _, _ in pairs]
    found = compare_outputs(names, [a for _, a, _ in pairs], [b for _, _, b in pairs], tolerances.rtol, tolerances.atol)
    wrong = [each for each in found if not each.equal]
    return "; ".join(_told(each) for each in wrong)


def matched(model: Outputs, source: Outputs, match: Mapping[str, str | int]) -> list[tuple[str, Any, Any]]:
    """Pairs of outputs: as told, by name where the source has the names, else in order as far as both go."""
    names, values = model
    if match:
        return [(name, values[_place(name, names)], _output(source, wanted)) for name, wanted in match.items()]
    shared = [name for name in names if name in source[0]]
    if shared:
        return [(name, values[names.index(name)], source[1][source[0].index(name)]) for name in shared]
    return list(zip(names, values, source[1], strict=False))


def _place(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise BadOption.unknown("output in --match", name, names)
    return list(names).index(name)


def _output(source: Outputs, wanted: str | int) -> Any:
    names, values = source
    if isinstance(wanted, str) and wanted in names:
        return values[names.index(wanted)]
    text = str(wanted)
    if text.isascii() and text.isdigit() and int(text) < len(values):
        return values[int(text)]
    raise BadOption.unknown("output of the source in --match", wanted, names or range(len(values)))


def _told(difference: Difference) -> str:
    if difference.reason:
        return f"output {difference.name}: {difference.reason}"
    told = f"output {difference.name}: {difference.differing} of {difference.elements} elements differ"
    if difference.max_absolute is not None:
        told += f", by up to {difference.max_absolute:.3g}"
    return told
