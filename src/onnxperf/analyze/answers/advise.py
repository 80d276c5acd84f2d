"""What advice says, in plain sentences: what was seen, what was gained by trying, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

from onnxperf.analyze.judges.advice import best_of, best_rewrite, gained_in
from onnxperf.records.advice import FASTER, Advice, Goal, Hazard, Trial, TrialOutcome, Tried
from onnxperf.wording.names import capital
from onnxperf.wording.numbers import count, ratio, ratio_within, sampled_percent

_OWN_OPTIONS = ("threads", "provider", "opt_level", "env")
"""Settings that are options of their own; all others are values of `options`."""
_TRIED_AS_SAID = ("dynamic-dims", "surplus-threads", "spinning", "arena")
"""Hazards whose remedy is what was tried, whatever the cause of a gain."""
_TAKES = {"cpu": "takes", "memory": "needs"}
_MOST_IN_ANSWER = 3
_PROMISING = 0.01
"""Gain from which on an undecided trial is named."""


class Finding(NamedTuple):
    """A hazard as it is shown."""

    title: str
    evidence: str
    result: str
    """What trying gave; empty if nothing could be tried."""
    action: str
    """What to do; empty if nothing helped."""
    outcome: TrialOutcome


def findings(record: Advice) -> list[Finding]:
    """Every hazard, in the order of the record."""
    found: list[Finding] = []
    shown: dict[tuple[object, Goal], str] = {}
    for hazard in record.hazards:
        best = best_of(hazard, record.tried)
        helps = best is not None and best.outcome in (*FASTER, "trade")
        result = result_text(best, hazard) if best is not None else ""
        if best is not None and helps:
            earlier = shown.setdefault((best.trial.key, gained_in(best, hazard.goal)), hazard.title)
            if earlier != hazard.title:
                result = f"{result} (the same candidate as for: {earlier})"
        action = _action(hazard, best) if best is not None and helps else ""
        found.append(Finding(hazard.title, hazard.evidence, result, action, best.outcome if best else "untried"))
    return found


def _action(hazard: Hazard, best: Tried) -> str:
    """What to do; the remedy of a hazard only where the gain is its effect."""
    what = "To use it" if best.outcome == "unexplained" else hazard.remedy
    return f"{what}: {setting_text(best.trial)}".removesuffix(": ")


def result_text(tried: Tried, hazard: Hazard) -> str:
    """What a trial gave, with its interval."""
    name, goal = tried.trial.name, hazard.goal
    if tried.outcome == "untried":
        return f"{name} {_why_untried(tried)}"
    approximate = "; it computes approximately, within the tolerances" if tried.trial.approximate else ""
    gained = gained_in(tried, goal)
    if gained != "time" and tried.outcome in ("gain", "trade"):
        return f"with {name}, the model {_TAKES[gained]} {_saved(tried, gained)} and is {_speed(tried)}{approximate}"
    if tried.outcome == "undecided":
        reason = f" ({tried.reason})" if tried.reason else ""
        return f"with {name}, the model may be {_speed(tried)}, which is undecided{reason}{approximate}"
    dropped = f", {tried.reason}" if tried.outcome == "none" and tried.reason else ""
    other = _not_explained(hazard.share) if tried.outcome == "unexplained" else ""
    return f"with {name}, the model is {_speed(tried)}{dropped}{other}{approximate}"


def _not_explained(share: float | None) -> str:
    """That a gain is larger than the share of a hazard allows, which its second race showed again."""
    known = share or 0.0
    most = f"nodes with {sampled_percent(known)} of the time explain at most {ratio(1 / (1 - known))}"
    return f" in a second race, too; {most}, so the gain has another cause"


def setting_text(trial: Trial) -> str:
    """How a user asks for what was tried: options in backquotes, which the command line spells as its own."""
    texts = [
        f"`{name}={value}`" if name in _OWN_OPTIONS else f"`options={name}={value}`"
        for name, value in trial.settings.items()
    ]
    calls = [f"`call={trial.call}`"] if trial.call else []
    return " ".join([*texts, *calls, *(["`output=FILE.onnx` writes the rewritten model"] if trial.rewrite else [])])


def advise_answer(record: Advice) -> str:
    """What helps, by how much; or that nothing does, where the time goes then, and what to run next."""
    if not record.next_command:
        return _what_helps(record)
    return f"{_what_helps(record)} {record.where}\nNext: {record.next_command}"


def _what_helps(record: Advice) -> str:
    if not record.hazards:
        return "No hazard was found, so nothing was tried."
    found = [(hazard, best_of(hazard, record.tried)) for hazard in record.hazards]
    number = count(len(record.hazards), "hazard")
    if not any(tried.speedup is not None for tried in record.tried):
        before = "Interrupted before anything was tried" if record.interrupted else "Nothing could be tried"
        return f"{before}: {number} {'was' if len(record.hazards) == 1 else 'were'} found."
    helped = [(hazard, best) for hazard, best in found if best is not None and best.outcome in FASTER]
    gains = sorted(_different(helped), key=lambda each: (-(each[1].speedup or 0.0), FASTER.index(each[1].outcome)))
    trades = _different([(hazard, best) for hazard, best in found if best is not None and best.outcome == "trade"])
    sentences = [f"{_in_short(best, hazard)}." for hazard, best in gains[:_MOST_IN_ANSWER]]
    if len(gains) > _MOST_IN_ANSWER:
        sentences.append(f"{count(len(gains) - _MOST_IN_ANSWER, 'more fix', 'more fixes')} helped.")
    if not gains:
        sentences.append(_nothing_helps(record))
    else:
        sentences += _more_promising(record, gains[0][1])
    sentences += [f"A trade: {result_text(best, hazard)}." for hazard, best in trades[:1]]
    rewrite = best_rewrite(record.tried) if record.output else None
    written = [f"The model with {rewrite.name} is in {record.output}."] if rewrite else []
    return "\n".join([*sentences, *written])


def _in_short(tried: Tried, hazard: Hazard) -> str:
    """What to do and what it gains: `Use fewer threads: 1.29× as fast (95 % CI 1.24–1.33)`."""
    gained = gained_in(tried, hazard.goal)
    found = _speed(tried) if gained == "time" else f"{_saved(tried, gained)}, {_speed(tried)}"
    is_tried = tried.outcome != "unexplained" or hazard.kind in _TRIED_AS_SAID
    fix = re.split(r"[,;:]", hazard.remedy)[0] if is_tried else f"with {setting_text(tried.trial)}"
    other = _not_explained(hazard.share) if tried.outcome == "unexplained" else ""
    about = ", within the tolerances" if tried.trial.approximate else ""
    return f"{capital(fix)}: {found}{other}{about}"


def notes_on(record: Advice) -> list[str]:
    """What a reader must know of gains."""
    longest = max(record.races[1:] or record.races, key=lambda race: len(race.subjects), default=None)
    raced = longest.notes if longest is not None else ()
    several = sum(each.outcome in FASTER for each in record.tried) > 1
    return [*(["each gain was measured alone; gains need not add up"] if several else []), *raced]


def _nothing_helps(record: Advice) -> str:
    trials = len({each.trial.key for each in record.tried if each.outcome != "untried"})
    open_ = len({each.trial.key for each in record.tried if each.outcome == "undecided"})
    if open_ == trials:
        return f"Undecided after {count(trials, 'candidate')}: more `time` may tell{_promising(record)}."
    if not open_:
        return f"Keep the session as it is: none of {count(trials, 'candidate')} is faster beyond the noise."
    stay = f"{count(open_, 'candidate')} of {trials} stay{'s' if open_ == 1 else ''} undecided"
    return f"Nothing is proven faster: {stay}, more `time` may tell{_promising(record)}."


def _promising(record: Advice) -> str:
    """The undecided trial that is worth more time, if one seems to be."""
    undecided = [each for each in record.tried if each.outcome == "undecided"]
    best = max(undecided, key=lambda each: each.speedup or 0.0, default=None)
    if best is None or best.speedup is None or best.speedup < 1 + _PROMISING:
        return ""
    return f" ({best.trial.name} promises most: {ratio(best.speedup)} as fast so far)"


def _more_promising(record: Advice, best: Tried) -> list[str]:
    """An undecided candidate that may gain more than the best one that is proven."""
    undecided = [each for each in record.tried if each.outcome == "undecided"]
    first = max(undecided, key=lambda each: each.speedup or 0.0, default=None)
    if first is None or (first.speedup or 0.0) <= (best.speedup or 0.0):
        return []
    return [f"Undecided: {first.trial.name}, {ratio(first.speedup)} as fast so far; more `time` may tell."]


def _different(found: list[tuple[Hazard, Tried]]) -> list[tuple[Hazard, Tried]]:
    """Without hazards whose gain is that of an earlier one: they share a trial."""
    seen: dict[tuple[object, Goal], tuple[Hazard, Tried]] = {}
    for hazard, best in found:
        seen.setdefault((best.trial.key, gained_in(best, hazard.goal)), (hazard, best))
    return list(seen.values())


def _why_untried(tried: Tried) -> str:
    if tried.status == "differs":
        return f"is not usable: it changes the outputs ({tried.reason})"
    if tried.status == "pending":
        return "was not tried"
    return f"could not be tried: {tried.reason}" if tried.reason else "could not be tried"


def _saved(tried: Tried, gained: Goal) -> str:
    if gained == "cpu":
        return _ratio("{} the CPU time", tried.cpu_ratio, tried.cpu_low, tried.cpu_high)
    return _ratio("{} the memory", tried.memory_ratio, tried.memory_low, tried.memory_high)


def _speed(tried: Tried) -> str:
    if tried.speedup is None:
        return "of unknown speed"
    return _ratio("{} as fast", tried.speedup, tried.speedup_low, tried.speedup_high)


def _ratio(words: str, value: float | None, low: float | None, high: float | None) -> str:
    found, within = ratio_within(value or 0.0, None if low is None or high is None else (low, high))
    return f"{words.format(found)}{within}"
