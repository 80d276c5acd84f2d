"""Knobs are tried only where a fact of the model makes them worth it."""

from __future__ import annotations

import pytest

from onnxperf.api._shared.variants import session_of
from onnxperf.api._tuning.facts import is_known
from onnxperf.records.tune import Goal
from onnxperf.runtimes.ort.config_keys import NEWEST
from onnxperf.tuning.base import ModelFacts, can_join, joined
from onnxperf.tuning.knobs import choices_for

PLAIN = {"arena=off", "mem_pattern=off", "set_denormal_as_zero=1", "opt_level=extended", "opt_level=basic"}
"""Worth trying for every model."""
EVERYTHING = ModelFacts(
    operators={"Einsum": 1, "Conv": 2, "Transpose": 1, "MatMul": 1, "Gelu": 1},
    symbolic={"batch": 8},
    branches=True,
    cast_chain=True,
    cores=8,
    calls=("run-c", "io-binding"),
    runtimes=("openvino",),
)


def names(facts: ModelFacts, goal: Goal = "latency", approximate: bool = False) -> set[str]:
    return {each.name for each in choices_for(facts, goal, approximate)}


def test_a_plain_model_on_one_core_has_only_the_choices_that_all_models_have() -> None:
    assert names(ModelFacts()) == PLAIN


def test_what_costs_little_or_helps_often_is_tried_first() -> None:
    knobs = list(dict.fromkeys(each.knobs[0] for each in choices_for(EVERYTHING)))
    assert knobs[:6] == ["call", "rewrite", "casts", "dimensions", "threads", "arena"]
    assert knobs[-2:] == ["runtime", "execution"]


@pytest.mark.parametrize(
    ("facts", "more"),
    [
        (ModelFacts(cores=6), {"threads=1", "threads=2", "threads=4", "allow_spinning=0", "dynamic_block_base=4"}),
        (ModelFacts(cores=1, branches=True), set()),
        (
            ModelFacts(cores=2, branches=True),
            {
                "threads=1",
                "allow_spinning=0",
                "dynamic_block_base=4",
                "execution_mode=parallel inter_op_threads=2",
            },
        ),
        (ModelFacts(operators={"Einsum": 2}), {"rewrite=einsum"}),
        (ModelFacts(operators={"Conv": 2}), {"disabled_optimizers=NchwcTransformer", "disable_prepacking=1"}),
        (ModelFacts(operators={"MatMul": 1}), {"disable_prepacking=1"}),
        (ModelFacts(operators={"Cast": 9}), set()),
        (ModelFacts(cast_chain=True), {"enable_cast_chain_elimination=1"}),
        (ModelFacts(symbolic={"batch": 8, "seq": 16}), {"dim.batch=8 dim.seq=16"}),
        (ModelFacts(calls=("run-c",)), {"call=run-c"}),
        (ModelFacts(runtimes=("numpy",)), {"runtime=numpy"}),
    ],
)
def test_a_fact_of_the_model_adds_its_choices(facts: ModelFacts, more: set[str]) -> None:
    assert names(facts) == PLAIN | more


def test_what_changes_results_is_tried_only_where_that_is_allowed() -> None:
    facts = ModelFacts(operators={"Erf": 1})
    assert names(facts, approximate=True) - names(facts) == {"enable_gelu_approximation=1"}


def test_for_memory_call_styles_and_spinning_make_no_difference_and_arenas_do() -> None:
    found = names(EVERYTHING, "memory")
    assert {"arena=same-as-requested", "arena=shrinkage", "execution_order=memory-efficient"} <= found
    assert not {"call=run-c", "allow_spinning=0", "runtime=openvino"} & found


@pytest.mark.parametrize("goal", ["latency", "cpu", "memory"])
def test_every_choice_has_settings_that_a_session_accepts_and_a_name_of_its_own(goal: Goal) -> None:
    choices = choices_for(EVERYTHING, goal, approximate=True)
    assert len({each.name for each in choices}) == len(choices)
    for each in choices:
        session_of(each.settings)
        assert is_known(each, NEWEST), each.name
    assert all(len(each.knobs) == 1 for each in choices)


def test_choices_are_joined_where_they_change_different_things() -> None:
    by_name = {each.name: each for each in choices_for(EVERYTHING)}
    spinning, threads = by_name["allow_spinning=0"], by_name["threads=1"]
    both = joined([threads, spinning])
    assert both.name == "threads=1, allow_spinning=0"
    assert both.settings == {"threads": "1", "session.intra_op.allow_spinning": "0"}
    assert both.knobs == ("threads", "spinning")
    assert can_join(both, by_name["call=run-c"])
    assert joined([both, by_name["call=run-c"]]).call == "run-c"


@pytest.mark.parametrize(
    ("one", "other", "possible"),
    [
        ("threads=1", "threads=2", False),
        ("opt_level=basic", "disabled_optimizers=NchwcTransformer", False),
        ("runtime=openvino", "arena=off", False),
        ("runtime=openvino", "call=run-c", False),
        ("runtime=openvino", "threads=4", True),
        ("rewrite=einsum", "threads=4", True),
    ],
)
def test_some_choices_exclude_each_other(one: str, other: str, possible: bool) -> None:
    by_name = {each.name: each for each in choices_for(EVERYTHING)}
    assert can_join(by_name[one], by_name[other]) is possible
    assert can_join(by_name[other], by_name[one]) is possible
