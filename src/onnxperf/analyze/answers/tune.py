"""What a tuning found, in plain sentences."""

from __future__ import annotations

from onnxperf.records.comparison import Verdict
from onnxperf.records.tune import Goal, TuneRow, Tuning
from onnxperf.wording.names import capital, first_of, name_of
from onnxperf.wording.numbers import (
    count,
    duration,
    interval,
    percent_at_most,
    ratio,
    ratio_within,
    significant,
    size,
)

_COMPARED: dict[Goal, str] = {
    "latency": "is {} as fast as the defaults",
    "cpu": "uses {} the CPU time of the defaults",
    "memory": "needs {} the memory of the defaults",
}
_NOT_BETTER: dict[Verdict, str] = {
    "slower": "worse than the defaults",
    "equivalent": "no better than the defaults",
    "undecided": "not proven better than the defaults",
    "baseline": "not compared with the defaults",
    "faster": "",
}
DEMANDS = {
    "denormals": "denormal numbers (below 1.2e-38) count as zero",
    "dimensions": "fixed dimensions: the session accepts no other sizes",
    "ort-values": "call=ort-values: the onnxruntime values of the inputs are made once; new inputs cost what making "
    "them costs",
    "io-binding-fixed": "call=io-binding-fixed: inputs are copied into the same buffers, and every call overwrites the "
    "last outputs",
    "io-binding-inplace": "call=io-binding-inplace: inputs have to be written into the same buffers, and every call "
    "overwrites the last outputs",
    "einsum": "the rewritten model holds only for the shapes of these inputs",
    "approximate": "the outputs differ a little from those of the defaults",
}
"""What settings that change numbers, or what a caller may do, ask of a program."""


def tune_answer(record: Tuning) -> str:
    """The winner and its gain, or that the defaults are best; then what was tried and how sure that is."""
    sentences = {"tuned": _tuned, "defaults": _defaults, "unconfirmed": _unconfirmed, "unanswered": _unanswered}
    return f"{sentences[record.outcome](record)}{_about_approximate(record)}"


def notes_on(record: Tuning) -> list[str]:
    """What was not tried or not chosen, and what the winner asks of a program."""
    notes = []
    without_time = [row for row in record.rows if not row.was_tried]
    if without_time:
        names = first_of([name_of(row.choice.name) for row in without_time])
        many = count(len(without_time), "candidate")
        notes.append(f"{many} not tried for lack of time: {names}; increase `time`, or `resume`")
    for row in record.rows:
        if row.status in ("ok", "pending") or row in without_time:
            continue
        what = "outputs differ" if row.status == "differs" else row.status
        notes.append(f"{name_of(row.choice.name)}: {what}{f' ({row.reason})' if row.reason else ''}")
    if record.left_out:
        notes.append(f"left out, as the winner is as good without: {', '.join(map(name_of, record.left_out))}")
    demands = record.winner.demands if record.winner is not None else ()
    return [*notes, *(DEMANDS[each] for each in demands if each in DEMANDS)]


# ---------------------------------------------------------------- by outcome


def _tuned(record: Tuning) -> str:
    name = name_of(record.winner.name) if record.winner else ""
    amounts = f"{_amount(record, record.after)} instead of {_amount(record, record.before)}"
    return f"{name} {_gain(record)}.\n{capital(amounts)} {_where(record)}; {_counts(record)} tried."


def _defaults(record: Tuning) -> str:
    tried, proposed = record.counts
    if not proposed:
        return "Keep the defaults: there is nothing to try for this model."
    if record.tried is not None:
        return f"Keep the defaults: the best of {_counts(record)}, {_unproven(record)}"
    least = significant(100 * record.min_effect)
    if proposed == 1:
        return f"Keep the defaults: the only candidate was not better by {least} % or more."
    whole = f"the {_counts(record)} tried" if tried < proposed else f"{proposed} candidates"
    return f"Keep the defaults: none of {whole} was better by {least} % or more."


def _unanswered(record: Tuning) -> str:
    best = f" The best of them, {_unproven(record)}" if record.tried is not None else ""
    return f"No answer: {_counts(record)} tried; increase `time`.{best}"


def _unproven(record: Tuning) -> str:
    """The candidate that was not proven better."""
    name = name_of(record.tried.name) if record.tried is not None else ""
    within = _within(record.gain_low, record.gain_high)
    gained = f" ({ratio(record.gain)} as good{within})" if record.gain is not None else ""
    what = _NOT_BETTER[record.verdict or "undecided"]
    where = f" {_where(record)}" if record.gain is not None else ""
    return f"{name}, was {what}{where}{gained}."


def _counts(record: Tuning) -> str:
    tried, proposed = record.counts
    number = count(proposed, "candidate")
    return number if record.outcome == "defaults" and tried == proposed else f"{tried} of {number}"


def _unconfirmed(record: Tuning) -> str:
    best = record.winner
    if best is None:
        return "Unconfirmed: nothing was better than the defaults so far."
    row = next((row for row in record.rows if row.choice.name == best.name), None)
    seen = f": {ratio(row.speedup)} as good as the defaults in the search" if row and row.speedup else ""
    return f"Unconfirmed: the best so far is {name_of(best.name)}{seen}. The best of many looks better than it is."


# ---------------------------------------------------------------- words


def _where(record: Tuning) -> str:
    what = "in fresh processes" if record.goal == "memory" else "in a race of its own"
    return f"{what}, on fresh inputs"


def _gain(record: Tuning) -> str:
    """How much faster, or which part of the CPU time or the memory is left."""
    gain, low, high = record.gain or 1.0, record.gain_low, record.gain_high
    if record.goal != "latency":
        gain, low, high = 1 / gain, high and 1 / high, low and 1 / low
    found, within = ratio_within(gain, None if low is None or high is None else (low, high))
    return f"{_COMPARED[record.goal].format(found)}{within}"


def _within(low: float | None, high: float | None) -> str:
    return f", 95 % CI {interval(low, high)}" if low is not None and high is not None else ""


def _amount(record: Tuning, value: float | None) -> str:
    return size(value) if record.goal == "memory" else duration(value)


def _about_approximate(record: Tuning) -> str:
    """The best of those that change the outputs a little, if it was not chosen."""
    rows = [row for row in record.rows if row.choice.approximate and row.status == "ok" and row.speedup]
    if not rows or (record.winner is not None and record.winner.approximate):
        return ""
    best: TuneRow = max(rows, key=lambda row: row.speedup or 0.0)
    if best.speedup is None or best.speedup <= 1 + record.min_effect:
        return ""
    error = f" with an error of {percent_at_most(best.error)}" if best.error is not None else ""
    allowed = "" if record.max_error is None else ", which is more than allowed"
    hint = " (`max_error` allows it)" if record.max_error is None else ""
    return f"\n{name_of(best.choice.name)} was {ratio(best.speedup)} as good in the search{error}{allowed}{hint}."
