"""What quantizing a model gives, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.analyze.judges.quantization import cannot_be_faster, int8_in, worst_error
from onnxperf.records.comparison import Comparison
from onnxperf.records.quantize import OutputError, Quantization, TriedWay
from onnxperf.records.sweep import time_of
from onnxperf.wording.names import first_of, name_of, with_reasons
from onnxperf.wording.numbers import count, duration, percent, percent_at_most, ratio_within, size

_QUANTIZABLE = "MatMul, Gemm, Conv or another operator with float32 weights"


def quantize_answer(record: Quantization) -> str:
    """How fast int8 is, what stays in float32, how far off it is, and what was written."""
    if not record.best:
        return f"No model in int8 was chosen: {_why_none(record)}."
    return "\n".join(
        filter(None, [_about_speed(record), _about_excluded(record), _about_errors(record), _about_file(record)])
    )


def notes_on(record: Quantization) -> list[str]:
    """What weakens the answer: random inputs, too few of them, ways that failed."""
    notes = []
    if not record.calibrated:
        notes.append(f"{_random_inputs(record)}: give some with `calibrate`")
    if record.overlap:
        notes.append("calibration, choice and errors share one input: give at least 3 to keep them apart")
    elif not record.choosing_inputs:
        shared = "calibration and choice share one input, errors are those of another one"
        notes.append(f"{shared}: give at least 3 to keep them apart")
    untried = [each for each in record.ways if each.status not in ("ok", "pending")]
    notes.extend(with_reasons((each.way.name, each.reason) for each in untried))
    if record.race is not None:
        notes.extend(note for note in record.race.notes if note not in record.notes)
    return notes


def _random_inputs(record: Quantization) -> str:
    if any(each.way.mode == "static" and each.status == "ok" for each in record.ways):
        return "static candidates were calibrated with random inputs, so ranges and errors say little about real ones"
    return "inputs are random, so the errors say little about real ones"


def nothing_to_quantize(what: str, rows: Sequence[TriedWay]) -> str:
    """Why no way gave a model, in one line."""
    failed = next((each for each in rows if each.status != "skipped"), None)
    if failed is None:
        return f"{what} has nothing that onnxruntime can quantize: no {_QUANTIZABLE}"
    return f"{what} cannot be quantized: {failed.reason}"


# ---------------------------------------------------------------- sentences


def _why_none(record: Quantization) -> str:
    if record.interrupted:
        made = sum(each.status == "ok" for each in record.ways)
        return f"interrupted after {count(made, 'candidate')}"
    return "none could be run to the end"


def _about_speed(record: Quantization) -> str:
    found, best = int8_in(record.race), record.best
    if found.ratio is None:
        return f"{best} was the best in the search, which no race confirmed."
    if found.verdict == "faster":
        return f"int8 ({best}) is {_ratio(found, 'as fast as float32')}{_times(record)}."
    if cannot_be_faster(found):
        slower, decided = found.inverse(), found.verdict == "slower"
        size_of_it = f"{_ratio(slower, 'as long as float32')}{_times(record)}"
        doubt = "" if decided else f" ({': '.join(filter(None, ['undecided', found.reason]))})"
        takes = "takes" if decided else "seems to take"
        return f"int8 {takes} {size_of_it}, with {best}, the best candidate{doubt}. Nothing was chosen."
    if found.verdict == "equivalent":
        known = "as fast as float32"
    else:
        known = "not proven faster than float32 (more `time` may tell)"
    return f"int8 is {known}: {best}, the best candidate, is {_ratio(found, 'as fast')}."


def _ratio(found: Comparison, words: str) -> str:
    low, high = found.low, found.high
    text, within = ratio_within(found.ratio or 0.0, None if low is None or high is None else (low, high))
    return f"{text} {words}{within}"


def _times(record: Quantization) -> str:
    subjects = record.race.subjects if record.race is not None else ()
    times = [time for subject in subjects if (time := time_of(subject)) is not None]
    return f": {duration(times[1])} against {duration(times[0])} per call" if len(times) == 2 else ""


def _about_excluded(record: Quantization) -> str:
    number = len(record.excluded)
    if not number:
        return ""
    names = first_of([name_of(each) for each in record.excluded], 3)
    stay, was = ("stays", "it was") if number == 1 else ("stay", "they were")
    return f"{count(number, 'node')} {stay} in float32 because {was} slower in int8: {names}."


def _about_errors(record: Quantization) -> str:
    if not record.errors:
        return "Its errors on held-out inputs were not measured."
    worst = worst_error(record.errors)
    beyond = worst is None or worst > record.max_error
    limit = f", more than the {percent_at_most(record.max_error)} of `max_error`" if beyond else ""
    error = "not finite" if worst is None else percent_at_most(worst)
    kind = "held-out" if record.calibrated and not record.overlap else "given" if record.calibrated else "random"
    calls = f"{count(record.held_out_inputs, 'call')} with {kind} inputs"
    relative = f"the largest error of an output is {error}{limit}"
    classes = [each for each in record.errors if each.top1 is not None]
    if not classes:
        return f"In {calls}, {relative}."
    return f"{_top1(min(classes, key=lambda each: each.top1 or 0.0), kind)}; {relative}."


def _top1(error: OutputError, kind: str) -> str:
    return f"Top-1 agreement is {percent(error.top1)} on {count(error.rows, f'{kind} input')}"


def _about_file(record: Quantization) -> str:
    if not record.output:
        return ""
    after, verdict = record.size_after_bytes, int8_in(record.race).verdict
    smaller = f" ({size(after)} instead of {size(record.size_before_bytes)})" if after is not None else ""
    if verdict == "faster":
        return f"It is in {record.output}{smaller}."
    known = "not faster" if verdict == "equivalent" else "not proven faster"
    return f"It was written to {record.output}{smaller}, as requested, although it is {known}."
