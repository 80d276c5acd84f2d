"""Whether a converted model agrees with its source, in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.answers.check import difference_text
from onnxperf.records.check import Difference
from onnxperf.records.convert import Conversion
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, grouped, significant


def conversion_answer(record: Conversion) -> str:
    """Answer whether the model agrees with its source, on how many rows, and where it was written."""
    where = f"Written to {record.output}." if record.output else ""
    if not record.checks:
        return f"The model was not compared with its source. {where}".rstrip()
    wrong = dict.fromkeys(output.name for check in record.checks for output in check.outputs if not output.equal)
    if wrong:
        differing = listed(f"{name}{_how_many(record, name)}" for name in wrong)
        parts = [f"The model differs from its source in {differing}.", _checked_on(record), _ties(record, list(wrong))]
        return " ".join(filter(None, [*parts, where or "Nothing was written."]))
    outputs = count(len(record.checks[0].outputs), "output")
    sizes = f" at {count(len(record.checks), 'size')}" if len(record.checks) > 1 else ""
    worst = max((output.max_absolute or 0.0 for check in record.checks for output in check.outputs), default=0.0)
    agreed = f"The model agrees with its source on {outputs}{sizes} (largest difference {significant(worst)})."
    return " ".join(filter(None, [agreed, _checked_on(record), where]))


def unsteady_text(moved: Sequence[Difference]) -> str:
    """Why a source that differs from itself cannot be compared."""
    return (
        "the source returns different values at every call on the same inputs "
        f"({'; '.join(map(difference_text, moved))}): seed its random numbers or switch them off, or do not check it"
    )


def other_model_text(function: str, difference: str) -> str:
    """Why a source differs from its model where its function draws random weights."""
    return (
        f"{function.rpartition(':')[2]} makes a different model at every call: seed its random numbers ({difference})"
    )


def rounded_text(difference: Difference, largest: float) -> str:
    """A difference beyond the tolerances that is no more than rounding."""
    numbers = f"{grouped(difference.differing)} of {count(difference.elements, 'value')}"
    most = "" if difference.max_absolute is None else f" by up to {significant(difference.max_absolute)}"
    return (
        f"{difference.name}: {numbers} near 0 {'differs' if difference.differing == 1 else 'differ'}{most}, "
        f"which float32 cannot represent when values reach {significant(largest)}"
    )


def _how_many(record: Conversion, name: str) -> str:
    """Of all checks together; empty if something else than values differs."""
    found = [output for check in record.checks for output in check.outputs if output.name == name]
    differing, elements = (sum(getattr(each, what) for each in found) for what in ("differing", "elements"))
    return f" ({grouped(differing)} of {grouped(elements)})" if differing else ""


def _checked_on(record: Conversion) -> str:
    """On how many rows, and in which types."""
    casts: dict[tuple[str, str], list[str]] = {}
    for name, types in record.casts.items():
        casts.setdefault(types, []).append(name)
    rows = [f"{count(record.rows, 'row')} of the sample"] if record.rows else []
    rows += [f"{grouped(record.made_rows)} generated from it, edge cases included"] if record.made_rows else []
    parts = [f"on {listed(rows)}"] if rows else []
    parts += [f"after the cast of {listed(names)} from {old} to {new}" for (old, new), names in casts.items()]
    return f"They were compared {', '.join(parts)}." if parts else ""


def _ties(record: Conversion, wrong: Sequence[str]) -> str:
    """Labels that differ while their scores agree: the scores of two classes are the same but for rounding."""
    labels = {each.name for each in record.outputs if each.dtype in ("int64", "int32", "string", "bool")}
    rest = {output.name for check in record.checks for output in check.outputs} - set(wrong)
    if record.rows and set(wrong) <= labels and rest:
        verb = "agrees" if len(rest) == 1 else "agree"
        return f"The labels differ where classes are nearly tied: {listed(sorted(rest))} {verb}."
    return ""
