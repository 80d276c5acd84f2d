"""What quantising a model gives, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.answers.paired_times import note_on_times
from onnxperf.analyze.judges.quantization import is_faster, worst_error
from onnxperf.records.quantize import INT8, OutputError, Quantization, TriedWay
from onnxperf.records.race import Subject
from onnxperf.wording.names import first_of, name_of, with_reasons
from onnxperf.wording.numbers import count, duration, factor, percent, percent_at_most, size

_QUANTIZABLE = "MatMul, Gemm, Conv or another operator with float32 weights"


def quantize_answer(record: Quantization) -> str:
    """How fast int8 is, what stays in float32, how far off it is, and what was written."""
    if not record.chosen:
        return f"No model in int8 was chosen: {_why_none(record)}."
    return " ".join(
        filter(None, [_about_speed(record), _about_excluded(record), _about_errors(record), _about_file(record)])
    )


def notes_on(record: Quantization) -> list[str]:
    """What weakens the answer: random inputs, too few of them, ways that failed."""
    notes = []
    if not record.calibrated:
        notes.append("inputs are random, so the errors say little about real ones: give some with `calibrate`")
    if record.overlap:
        notes.append("errors were measured on the inputs of the calibration: give more to keep some of them apart")
    untried = [each for each in record.ways if each.status not in ("ok", "pending")]
    notes.extend(with_reasons((each.way.name, each.reason) for each in untried))
    if record.race is not None:
        notes.extend(note for note in record.race.notes if note not in record.notes)
    return [*notes, *_note_on_times(record)]


def _note_on_times(record: Quantization) -> list[str]:
    subject, times = _subject(record), _medians(record)
    if subject is None or times is None or subject.verdict not in ("faster", "slower"):
        return []  # no times are shown
    why = "the speedup is paired by launch"
    return note_on_times(*times, subject.speedup_low, subject.speedup_high, "of float32 and int8", why)


def nothing_to_quantize(what: str, rows: Sequence[TriedWay]) -> str:
    """Why no way gave a model, in one line."""
    failed = next((each for each in rows if each.status != "skipped"), None)
    if failed is None:
        return f"{what} has nothing that onnxruntime can quantise: no {_QUANTIZABLE}"
    return f"{what} cannot be quantised: {failed.reason}"


# ---------------------------------------------------------------- sentences


def _why_none(record: Quantization) -> str:
    if record.interrupted:
        made = sum(each.status == "ok" for each in record.ways)
        return f"{count(made, 'way')} to quantise the model had been made until the interruption"
    return "none could be run to the end"


def _about_speed(record: Quantization) -> str:
    subject = _subject(record)
    if subject is None or subject.speedup is None:
        return f"{record.chosen} was the best in the search, which no race confirmed."
    low, high = subject.speedup_low, subject.speedup_high
    within = f" ({factor(low)} to {factor(high)})" if low is not None and high is not None else ""
    times = _times(record)
    if subject.verdict == "faster":
        return f"int8 ({record.chosen}) is {factor(subject.speedup)} times as fast as float32{within}{times}."
    if subject.verdict == "slower":
        slower = factor(1 / subject.speedup)
        inverse = f" ({factor(1 / high)} to {factor(1 / low)})" if low and high else ""
        best = f"{record.chosen}, the best way, takes {slower} times as long{inverse}"
        return f"int8 is slower than float32: {best}{times}."
    if subject.verdict == "equivalent":
        known = "as fast as float32"
    else:
        known = "not proven faster than float32 (more `time` may tell)"
    return f"int8 is {known}: {record.chosen}, the best way, has a speedup of {factor(subject.speedup)}{within}."


def _times(record: Quantization) -> str:
    times = _medians(record)
    return f": {duration(times[1])} against {duration(times[0])} per call" if times is not None else ""


def _medians(record: Quantization) -> tuple[float, float] | None:
    """Times of a call in float32 and in int8, where both are known."""
    subjects = record.race.subjects if record.race is not None else ()
    medians = [subject.median_ns for subject in subjects if subject.median_ns is not None]
    return (medians[0], medians[1]) if len(medians) == 2 else None


def _subject(record: Quantization) -> Subject | None:
    subjects = record.race.subjects if record.race is not None else ()
    return next((each for each in subjects if each.name == INT8 and each.status == "ok"), None)


def _about_excluded(record: Quantization) -> str:
    number = len(record.excluded)
    if not number:
        return ""
    names = first_of([name_of(each) for each in record.excluded], 3)
    stay, was = ("stays", "it was") if number == 1 else ("stay", "they were")
    return f"{count(number, 'node')} {stay} in float32 because {was} slower in int8: {names}."


def _about_errors(record: Quantization) -> str:
    worst = worst_error(record.errors)
    beyond = worst is None or worst > record.max_error
    limit = f", more than the {percent_at_most(record.max_error)} of `max_error`" if beyond else ""
    error = "not finite" if worst is None else percent_at_most(worst)
    kind = "held-out" if record.calibrated and not record.overlap else "given" if record.calibrated else "random"
    calls = f"{count(record.held_out_inputs, 'call')} with {kind} inputs"
    relative = f"the largest relative error of an output is {error}{limit}"
    classes = [each for each in record.errors if each.top1 is not None]
    if not classes:
        return f"In {calls}, {relative}."
    return f"{_top1(min(classes, key=lambda each: each.top1 or 0.0), kind)}; {relative}."


def _top1(error: OutputError, kind: str) -> str:
    return f"Top-1 agreement is {percent(error.top1)} on {count(error.rows, f'{kind} input')}"


def _about_file(record: Quantization) -> str:
    after = record.size_after_bytes
    smaller = f" ({size(after)} instead of {size(record.size_before_bytes)})" if after is not None else ""
    if not record.output:
        return ""
    if is_faster(record.race, INT8):
        return f"It is in {record.output}{smaller}."
    subject = _subject(record)
    known = "not proven faster" if subject is None or subject.verdict == "undecided" else "not faster"
    return f"It was written to {record.output}{smaller}, as requested, although it is {known}."
