"""Match the outputs of two subjects (as given by the user, by name, or by order) and compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxperf.analyze.answers.check import difference_text
from onnxperf.analyze.judges.accuracy import Form, compare_outputs
from onnxperf.analyze.judges.elements import pieces, type_name
from onnxperf.errors import BadOption
from onnxperf.records.check import Difference
from onnxperf.records.options import Tolerances
from onnxperf.wording.names import listed

Outputs = tuple[list[str], list[Any]]
"""Names (empty for a callable without names) and values."""


Interface = tuple[Mapping[str, Any], Sequence[str]]
"""The input arrays of a model by name, and the names of its outputs."""


def disagreement(model: Outputs, source: Outputs, tolerances: Tolerances, form: Form = "exact") -> str:
    """How the outputs of a source differ from those of the model; empty if they agree."""
    found = differences(model, source, tolerances, form)
    return "; ".join(difference_text(each) for each in found if not each.equal)


def differences(
    model: Outputs, source: Outputs, tolerances: Tolerances, form: Form = "exact"
) -> tuple[Difference, ...]:
    """Compare all pairs of matching outputs; for models and runtimes, also report outputs of only one side."""
    pairs = matched(model, source, tolerances.match)
    names = [name for name, _, _ in pairs]
    alike = [in_form(ours, theirs, form) for _, ours, theirs in pairs]
    ours, theirs = [each for each, _ in alike], [each for _, each in alike]
    found = compare_outputs(names, ours, theirs, tolerances.rtol, tolerances.atol, form)
    # A source may return fewer outputs than its model, but not none: that would agree with everything.
    complete = tolerances.match or (form != "exact" and found)
    return found if complete else (*found, *_left_over(model[0], source[0], names))


def _left_over(ours: Sequence[str], theirs: Sequence[str], compared: Sequence[str]) -> list[Difference]:
    """Outputs of only one side; if no names are shared, outputs are compared in order."""
    by_name = any(name in theirs for name in compared)
    others = [name for name in theirs if name not in compared] if by_name else theirs[len(compared) :]
    lacking = [(name, "first") for name in ours if name not in compared] + [(name, "second") for name in others]
    return [Difference(name=name, equal=False, reason=f"only in the {side}") for name, side in lacking]


def same_again(one: Outputs, other: Outputs, tolerances: Tolerances) -> bool:
    """Whether two calls of the same subject agree; outputs of a callable have no names."""
    first, second = one[1], other[1]
    names = [str(place) for place in range(len(first))]
    if len(first) != len(second):
        return False
    return all(each.equal for each in compare_outputs(names, first, second, tolerances.rtol, tolerances.atol))


def in_form(ours: Any, theirs: Any, form: Form) -> tuple[Any, Any]:
    """Both values; in table form, the second is reshaped like the first as far as its values are unaffected."""
    if form != "table":
        return ours, theirs
    if _is_table(ours) != _is_table(theirs):
        ours, theirs = _as_array(ours), _as_array(theirs)
    if isinstance(ours, np.ndarray) and not isinstance(theirs, dict | list | tuple | type(None)):
        theirs = np.asarray(theirs)
        theirs = theirs.reshape(ours.shape) if ours.shape == (*theirs.shape, 1) else theirs
    return ours, theirs


def _is_table(value: Any) -> bool:
    """Whether this is the result of a ZipMap: a dictionary per row."""
    return isinstance(value, list) and len(value) > 0 and all(isinstance(row, dict) for row in value)


def _as_array(value: Any) -> Any:
    """Rows of probabilities in class order, as in scikit-learn."""
    return np.array([[float(row[key]) for key in row] for row in value]) if _is_table(value) else np.asarray(value)


def unlike_interfaces(first: Interface, second: Interface) -> str:
    """Why the outputs of two models cannot be compared; empty if inputs and output names agree."""
    (ours, outputs), (theirs, others) = first, second
    unlike = unlike_inputs(ours, theirs)
    if not unlike and set(outputs) != set(others):
        unlike = f"outputs {listed(outputs)} against {listed(others)}"
    return unlike or _changed_values(ours, theirs)


def unlike_values(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """How the inputs of two models differ, including values; empty if they do not."""
    return unlike_inputs(ours, theirs) or _changed_values(ours, theirs)


def _changed_values(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    changed = (name for name in ours if not _same_values(ours[name], theirs[name]))
    return next((f"input {name} has different values" for name in changed), "")


def unlike_inputs(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """How the inputs of two models differ in names, types and shapes; empty if they do not."""
    if set(ours) != set(theirs):
        return f"inputs {listed(ours)} against {listed(theirs)}"
    pairs = ((name, _signature(array), _signature(theirs[name])) for name, array in ours.items())
    return next((f"input {name} {one} against {other}" for name, one, other in pairs if one != other), "")


def _signature(array: Any) -> str:
    return f"{type_name(array)}{list(array.shape)}"


def _same_values(a: Any, b: Any) -> bool:
    if a is b or type_name(a) == "string":
        return bool(a is b or a.tolist() == b.tolist())
    return all(one.tobytes() == other.tobytes() for one, other in pieces(a, b))


def matched(model: Outputs, source: Outputs, match: Mapping[str, str | int]) -> list[tuple[str, Any, Any]]:
    """Pairs of outputs: as given, by shared names, or else in order as far as both go."""
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
