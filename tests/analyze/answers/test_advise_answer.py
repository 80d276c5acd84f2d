"""What advice says about what was tried."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.advise import advise_answer, findings, notes_on, result_text, setting_text
from onnxperf.records.advice import Advice, Goal, Hazard, Trial, Tried
from onnxperf.records.race import Case

ONE = Trial(name="threads=1", settings={"threads": "1"})
SLEEPING = Trial(name="no spinning", settings={"session.intra_op.allow_spinning": "0"})
THREADS = Hazard(kind="threads", title="Surplus threads", evidence="4 threads", remedy="Use fewer", trials=(ONE,))
SPINNING = Hazard(
    kind="spinning", title="Spinning threads", evidence="busy", remedy="Sleep", goal="cpu", trials=(SLEEPING,)
)
GAIN = Tried(
    hazard="threads",
    trial=ONE,
    status="ok",
    speedup=1.29,
    speedup_low=1.24,
    speedup_high=1.33,
    verdict="faster",
    outcome="gain",
)
NONE = replace(GAIN, speedup=1.001, speedup_low=0.995, speedup_high=1.006, verdict="equivalent", outcome="none")
TRADE = Tried(
    hazard="spinning",
    trial=SLEEPING,
    status="ok",
    speedup=0.8,
    speedup_low=0.78,
    speedup_high=0.82,
    cpu_ratio=0.5,
    cpu_low=0.48,
    cpu_high=0.52,
    verdict="slower",
    outcome="trade",
)


@pytest.mark.parametrize(
    ("tried", "goal", "text"),
    [
        (GAIN, "time", "with threads=1, the model is 1.29× as fast (95 % CI 1.24–1.33)"),
        (
            replace(GAIN, speedup=1.16, speedup_low=1.12, speedup_high=1.2, outcome="unexplained"),
            "time",
            "with threads=1, the model is 1.16× as fast (95 % CI 1.12–1.20) in a second race, too; nodes with 1 % "
            "of the time explain at most 1.01×, so the gain has another cause",
        ),
        (NONE, "time", "with threads=1, the model is 1.00× as fast (95 % CI 0.99–1.01)"),
        (
            replace(NONE, speedup=0.9, speedup_low=None, speedup_high=None, reason="slower in every round"),
            "time",
            "with threads=1, the model is 0.90× as fast, slower in every round",
        ),
        (
            replace(GAIN, trial=replace(ONE, approximate=True)),
            "time",
            "with threads=1, the model is 1.29× as fast (95 % CI 1.24–1.33); it computes approximately, within the "
            "tolerances",
        ),
        (
            TRADE,
            "cpu",
            "with no spinning, the model takes 0.50× the CPU time (95 % CI 0.48–0.52) and is 0.80× as fast "
            "(95 % CI 0.78–0.82)",
        ),
        (
            replace(TRADE, outcome="gain", memory_ratio=0.25, speedup=None),
            "memory",
            "with no spinning, the model needs 0.25× the memory and is of unknown speed",
        ),
        (
            replace(NONE, status="differs", outcome="untried", reason="output Y: 3 of 4 elements differ"),
            "time",
            "threads=1 is not usable: it changes the outputs (output Y: 3 of 4 elements differ)",
        ),
        (replace(NONE, status="failed", outcome="untried", reason="no"), "time", "threads=1 could not be tried: no"),
        (replace(NONE, status="pending", outcome="untried"), "time", "threads=1 was not tried"),
    ],
)
def test_a_trial_says_what_it_gave(tried: Tried, goal: Goal, text: str) -> None:
    assert result_text(tried, replace(THREADS, goal=goal, share=0.01)) == text


@pytest.mark.parametrize(
    ("hazards", "tried", "fields", "said"),
    [
        ((), (), {}, "No hazard was found, so nothing was tried."),
        (
            (),
            (),
            {"where": "Conv takes 90 % of the time in 9 nodes.", "next_command": "onnxperf tune m.onnx"},
            "No hazard was found, so nothing was tried. Conv takes 90 % of the time in 9 nodes.\n"
            "Next: onnxperf tune m.onnx",
        ),
        ((THREADS,), (GAIN,), {}, "Use fewer: 1.29× as fast (95 % CI 1.24–1.33)."),
        (
            (THREADS,),
            (NONE,),
            {},
            "Keep the session as it is: none of 1 candidate is faster beyond the noise.",
        ),
        (
            (THREADS,),
            (replace(NONE, outcome="undecided"),),
            {},
            "Undecided after 1 candidate: more `time` may tell.",
        ),
        (
            (THREADS, SPINNING),
            (NONE, replace(TRADE, outcome="undecided")),
            {},
            "Nothing is proven faster: 1 candidate of 2 stays undecided, more `time` may tell.",
        ),
        (
            (THREADS, SPINNING),
            (NONE, TRADE),
            {},
            "A trade: with no spinning, the model takes 0.50× the CPU time",
        ),
        ((replace(THREADS, trials=()),), (), {}, "Nothing could be tried: 1 hazard was found."),
        (
            (THREADS, SPINNING),
            (),
            {"interrupted": True},
            "Interrupted before anything was tried: 2 hazards were found.",
        ),
    ],
)
def test_the_answer_names_what_helps_or_says_that_nothing_does(
    hazards: Any, tried: Any, fields: dict[str, Any], said: str
) -> None:
    assert said in advise_answer(Advice(model="m", hazards=hazards, tried=tried, **fields))


def test_only_what_helps_says_what_to_do_and_names_the_exact_setting() -> None:
    found = findings(Advice(model="m", hazards=(THREADS, SPINNING), tried=(GAIN, TRADE)))
    assert [each.action for each in found] == [
        "Use fewer: `threads=1`",
        "Sleep: `options=session.intra_op.allow_spinning=0`",
    ]
    assert findings(Advice(model="m", hazards=(THREADS,), tried=(NONE,)))[0].action == ""


def test_a_gain_that_the_hazard_does_not_explain_is_not_said_to_be_its_remedy() -> None:
    other = replace(GAIN, hazard="spinning", trial=SLEEPING, outcome="unexplained")
    record = Advice(model="m", hazards=(replace(SPINNING, share=0.1), THREADS), tried=(other, GAIN))
    found = findings(record)[0]
    assert (found.outcome, found.action) == (
        "unexplained",
        "To use it: `options=session.intra_op.allow_spinning=0`",
    )
    second, first = advise_answer(record).splitlines()  # a gain with a cause comes before an equal one without
    assert first.startswith("Sleep: 1.29× as fast")
    assert first.endswith("explain at most 1.11×, so the gain has another cause.")
    assert second == "Use fewer: 1.29× as fast (95 % CI 1.24–1.33)."


def test_a_trial_that_two_hazards_share_is_one_gain() -> None:
    tiny = replace(THREADS, kind="tiny", title="Tiny nodes")
    record = Advice(model="m", hazards=(THREADS, tiny), tried=(GAIN, replace(GAIN, hazard="tiny")))
    assert advise_answer(record).count("1.29×") == 1
    assert "the same candidate as for: Surplus threads" in findings(record)[1].result


def test_settings_calls_and_rewrites_are_spelled_as_options() -> None:
    trial = Trial(name="x", settings={"opt_level": "extended", "arena": "off"}, call="io-binding")
    assert setting_text(trial) == "`opt_level=extended` `options=arena=off` `call=io-binding`"
    assert setting_text(Trial(name="einsum", rewrite="einsum")) == "`output=FILE.onnx` writes the rewritten model"


def test_notes_are_those_of_the_race_and_that_gains_need_not_add_up() -> None:
    case = Case(model="m", notes=("busy",))
    record = Advice(model="m", hazards=(THREADS, SPINNING), tried=(GAIN, replace(GAIN, hazard="b")), races=(case,))
    assert notes_on(record) == ["each gain was measured alone; gains need not add up", "busy"]


def test_the_undecided_trial_that_promises_most_is_named() -> None:
    undecided = replace(GAIN, verdict="undecided", outcome="undecided")
    record = Advice(model="m", hazards=(THREADS,), tried=(undecided,))
    assert advise_answer(record) == (
        "Undecided after 1 candidate: more `time` may tell (threads=1 promises most: 1.29× as fast so far)."
    )
