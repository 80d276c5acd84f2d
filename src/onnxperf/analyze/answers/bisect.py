"""Where a bisection found a change, in plain sentences."""

from __future__ import annotations

import math

from onnxperf.records.bisect import Bisection, BisectStep
from onnxperf.records.comparison import Comparison
from onnxperf.wording.names import first_of, listed, name_of
from onnxperf.wording.numbers import count, microseconds, ratio, ratio_within, share_percent, spoken_size

_MOST = 0.75
"""Part of the difference of the ends, on the scale of ratios, below which the cause does not account for all of it."""
_THINGS = {"releases": "release", "optimizers": "graph optimizer", "settings": "setting", "nodes": "node"}


def bisect_answer(record: Bisection) -> str:
    """What was found, how sure that is, and which operators are behind it."""
    if record.interrupted and (not record.steps or record.steps[-1].purpose != "repeat"):
        return f"No single cause was found: {_so_far(record)}."
    sentences = {
        "found": _found,
        "range": _range,
        "same": _same,
        "other way": _other_way,
        "undecided": _undecided,
        "unconfirmed": _unconfirmed,
        "too few": _too_few,
    }
    return "\n".join(
        filter(None, [sentences[record.outcome](record), _about_operators(record), _about_outputs(record)])
    )


def notes_on(record: Bisection) -> list[str]:
    """Candidates that did not run, and what the first comparison cannot show."""
    failed = [each for each in record.candidates if each.status == "failed"]
    notes = [f"skipped: {name_of(each.name)} ({each.reason})" for each in failed]
    if record.outcome == "same" and record.over in ("optimizers", "settings"):
        notes.append("changes in both directions may cancel each other out between the ends")
    raced = [step for step in record.steps if step.race is not None]
    others = [note for step in raced[-1:] if step.race is not None for note in step.race.notes]
    return [*notes, *others]


# ---------------------------------------------------------------- by outcome


def _found(record: Bisection) -> str:
    last = record.steps[-1]
    if record.over == "nodes":
        return _found_part(record, last)
    cause = name_of(record.causes[0])
    if record.over == "releases":
        found = f"{cause} is the first release that {_verb(record, last)}: {_how(record, last, record.good)}."
    else:
        found = f"{cause} {_makes(record, last)}: {_how(record, last, 'without it')}."
    return " ".join(filter(None, [found, _about_rest(record)]))


def _found_part(record: Bisection, last: BisectStep) -> str:
    number = len(record.causes)
    nodes = f"{count(number, 'node')} ({first_of([name_of(each) for each in record.causes])})"
    sides = _sides(record, last, record.bad, record.good)
    written = f" It is in {record.output}, with random weights." if record.output else ""
    return f"The smallest part that shows the difference has {nodes}: {sides}.{written}"


def _range(record: Bisection) -> str:
    last = record.steps[-1]
    does = _verb(record, last) if record.over == "releases" else _makes(record, last)
    between = first_of([name_of(each) for each in record.causes])
    thing = f"The {_THINGS[record.over]} that {does} is one of {between}"
    return f"{thing}; {_sides(record, last, record.bad, record.good)}."


def _same(record: Bisection) -> str:
    ends = record.steps[0]
    what = {"time": "take the same time", "memory": "need the same memory", "accuracy": "give the same outputs"}
    if record.over == "nodes":
        return f"No difference: {record.good} and {record.bad} {what[record.by]}."
    return f"No difference: {ends.candidate} and {ends.base} {what[record.by]}."


def _other_way(record: Bisection) -> str:
    ends = record.steps[0]
    return f"No change for the {record.change}: {_ends_text(record, ends)}; `change=any` finds where."


def _undecided(record: Bisection) -> str:
    ends = record.steps[0]
    if ends.side == "bad":
        return f"Undecided: {_so_far(record)}."
    reason = f": {ends.reason}" if ends.reason else ""
    names = (record.good, record.bad) if record.over == "nodes" else (ends.base, ends.candidate)
    return f"Undecided if {listed(names)} differ{reason}."


def _unconfirmed(record: Bisection) -> str:
    ends, last = record.steps[0], record.steps[-1]
    shown = {"good": "showed no difference", "undecided": "was undecided", "bad": ""}[last.side]
    what = f"{last.candidate} against {last.base}" if last.base else last.candidate
    found = _ends_text(record, ends)
    return f"No single cause was found: {found}, but the last comparison, {what}, {shown} when repeated."


def _too_few(record: Bisection) -> str:
    ran = sum(each.status == "ok" for each in record.candidates)
    return f"Nothing was compared: of {count(len(record.candidates), 'candidate')}, {ran} could run."


def _so_far(record: Bisection) -> str:
    if not record.steps:
        return "nothing was compared"
    ends = record.steps[0]
    if ends.side != "bad":
        return f"{_ends_names(record, ends)} were compared only"
    place = "" if record.over == "nodes" else f"; the change is after {record.good}, at {record.bad} or before"
    return f"{_ends_text(record, ends)}{place}"


# ---------------------------------------------------------------- words


def _word(record: Bisection, step: BisectStep) -> str:
    more = (step.ratio or 1.0) > 1
    if record.by == "memory":
        return "larger" if more else "smaller"
    return "slower" if more else "faster"


def _makes(record: Bisection, step: BisectStep) -> str:
    """What an optimizer or a setting does to the model."""
    return "changes the outputs" if record.by == "accuracy" else f"makes the model {_word(record, step)}"


def _verb(record: Bisection, step: BisectStep) -> str:
    """What a candidate does that others did not."""
    if record.by == "accuracy":
        return "gives other outputs"
    if record.by == "memory":
        return f"needs {'more' if (step.ratio or 1.0) > 1 else 'less'} memory"
    return f"is {_word(record, step)}"


def _how(record: Bisection, step: BisectStep, base: str) -> str:
    """By how much a candidate differs from its base, with the interval."""
    if record.by == "accuracy" or step.ratio is None:
        return step.differs or "the outputs differ"
    if record.by == "memory":
        return f"it needs {ratio(step.ratio)} the memory of {base} ({_amounts(step)})"
    worse, found = step.ratio > 1, Comparison.spelled(step, "ratio")
    found = found if worse else found.inverse()
    low, high = found.low, found.high
    times, within = ratio_within(found.ratio or 1.0, None if low is None or high is None else (low, high))
    return f"it takes {times} as long as {base}{within}" if worse else f"it is {times} as fast as {base}{within}"


def _amounts(step: BisectStep) -> str:
    return f"{spoken_size(step.amount or 0)} against {spoken_size(step.base_amount or 0)}"


def _ends_names(record: Bisection, ends: BisectStep) -> str:
    return listed((record.good, record.bad) if record.over == "nodes" else (ends.base, ends.candidate))


def _ends_text(record: Bisection, ends: BisectStep) -> str:
    first, second = (record.good, record.bad) if record.over == "nodes" else (ends.base, ends.candidate)
    return _sides(record, ends, second, first)


def _sides(record: Bisection, step: BisectStep, candidate: str, base: str) -> str:
    """Releases do something; everything else is something that a model runs with."""
    if record.by == "accuracy":
        return f"the outputs of {candidate} differ from those of {base}"
    if record.over == "releases":
        return f"{candidate} {_how(record, step, base).removeprefix('it ')}"
    return f"with {candidate}, {_how(record, step, f'with {base}')}"


# ---------------------------------------------------------------- what else is known


def _about_rest(record: Bisection) -> str:
    """Where the ends differ by much more than the cause accounts for."""
    ends, last = record.steps[0], record.steps[-1]
    if ends.ratio is None or last.ratio is None or ends.ratio == 1:
        return ""
    part = math.log(last.ratio) / math.log(ends.ratio)
    return "" if part >= _MOST else f"That is {share_percent(part)} of the difference: {_ends_text(record, ends)}."


def _about_operators(record: Bisection) -> str:
    if not record.operators:
        return ""
    texts = [
        f"{name_of(each.op_name)} ({microseconds(each.before_us)} before, {microseconds(each.after_us)} after)"
        for each in record.operators
    ]
    verb = "accounts" if len(texts) == 1 else "account"
    return f"{listed(texts)} {verb} for it, in profiles of one inference."


def _about_outputs(record: Bisection) -> str:
    """Outputs that differ next to the time or the memory."""
    step = record.steps[0] if record.steps else None
    if step is None or record.by == "accuracy" or not step.differs:
        return ""
    return f"Outputs of the ends differ: {step.differs} (`by=accuracy` finds where)."
