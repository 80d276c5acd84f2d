"""Settings with several values: how they are read, what their subjects are called, and that they race."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as some

import onnxperf
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.setups import setups_of, subject_names
from onnxperf.api._shared.variants import named_settings, session_of, variants_in
from onnxperf.errors import BadInput, BadOption
from onnxperf.options.functions import BENCH
from onnxperf.records.options import SessionOptions
from tests.api.test_bench import TINY, names

SPINNING = "session.intra_op.allow_spinning"
INTER_SPINNING = "session.inter_op.allow_spinning"
SHRINKAGE = "memory.enable_memory_arena_shrinkage"
AFFINITIES = "session.intra_op_thread_affinities"


def subjects(runtime: str = "ort", call: str = "run", **keywords: Any) -> list[str]:
    """The names of all subjects of one model."""
    setups = setups_of(runtime, call, parse(keywords, BENCH))
    return [name for names in subject_names(setups) for name in names]


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({}, ["ort"]),
        ({"threads": 2}, ["ort"]),
        ({"threads": [1, 2]}, ["threads=1", "threads=2"]),
        ({"opt_level": ["disable", "all"], "threads": 1}, ["opt_level=disable", "opt_level=all"]),
        ({"options": {SPINNING: [0, 1]}}, ["allow_spinning=0", "allow_spinning=1"]),
        ({"options": {SPINNING: 0}}, ["ort"]),
        ({"options": {"mem_pattern": [True, False]}}, ["mem_pattern=on", "mem_pattern=off"]),
        (
            {"options": {SPINNING: [0, 1], INTER_SPINNING: [0, 1]}},
            [f"{SPINNING}={a} {INTER_SPINNING}={b}" for a, b in product("01", "01")],
        ),
        (
            {"threads": [1, 2], "call": "run,run-c"},
            ["run threads=1", "run-c threads=1", "run threads=2", "run-c threads=2"],
        ),
        (
            {"threads": [1, 2], "runtime": "ort,numpy"},
            ["ort threads=1", "numpy threads=1", "ort threads=2", "numpy threads=2"],
        ),
        (
            {"options": {SPINNING: [0, 1]}, "runtime": "ort,numpy"},
            ["ort allow_spinning=0", "numpy", "ort allow_spinning=1"],
        ),
        ({"opt_level": ["disable", "all"], "runtime": "numpy"}, ["numpy"]),
        ({"variants": {"usual": {}, "lean": {"threads": 1, "arena": False}}}, ["usual", "lean"]),
        ({"variants": {"a": {"call": "run"}, "b": {"call": "run-c"}}}, ["a", "b"]),
        ({"variants": {"a": {"call": "run,run-c"}, "b": {"call": "run-c"}}}, ["run a", "run-c a", "b"]),
        ({"variants": {"a": {"runtime": "numpy"}, "b": {}}}, ["a", "b"]),
    ],
)
def test_subjects_are_called_by_what_differs(keywords: dict[str, Any], expected: list[str]) -> None:
    assert subjects(**keywords) == expected


@pytest.mark.parametrize(
    ("setting", "value", "field", "stored"),
    [
        ("threads", "3", "threads", 3),
        ("intra_op_num_threads", 3, "threads", 3),
        ("inter_op_num_threads", "2", "inter_op_threads", 2),
        ("arena", "off", "arena", "off"),
        ("enable_cpu_mem_arena", False, "arena", "off"),
        ("arena", "on", "arena", "default"),
        ("arena", "shrinkage", "arena", "shrinkage"),
        ("enable_mem_pattern", "0", "mem_pattern", False),
        ("mem_reuse", "off", "mem_reuse", False),
        ("execution_mode", "parallel", "execution_mode", "parallel"),
        ("execution_order", "memory-efficient", "execution_order", "memory-efficient"),
        ("use_deterministic_compute", "true", "deterministic", True),
        ("disabled_optimizers", "GeluFusion+MatMulAddFusion", "disabled_optimizers", ("GeluFusion", "MatMulAddFusion")),
        ("disabled_optimizers", "none", "disabled_optimizers", ()),
        (SPINNING, False, "options", {SPINNING: "0"}),
        ("provider.device_id", 0, "provider_options", {"device_id": "0"}),
        ("run.anything", "x", "run_options", {"anything": "x"}),
        (
            SHRINKAGE,
            "cpu:0",
            "run_options",
            {SHRINKAGE: "cpu:0"},
        ),
        ("dim.batch", "8", "fixed_dims", {"batch": 8}),
    ],
)
def test_every_setting_has_a_name_and_takes_texts(setting: str, value: Any, field: str, stored: Any) -> None:
    (variant,) = variants_in({"variants": {"only": {setting: value}}})
    assert getattr(variant.session, field) == stored


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"threads": 0}, "`threads=0`: expected a whole number from 1 to 1024"),
        ({"threads": "two"}, "`threads=two`: expected a whole number"),
        ({"threads": [1, 1]}, "`threads=1`: a value is given twice"),
        ({"threads": []}, "`threads`: no value given"),
        (
            {"opt_level": "most"},
            "unknown optimization level 'most'; choose from: disable, basic",
        ),
        ({"options": {"mem_patern": "off"}}, "unknown setting 'mem_patern'; choose from: arena"),
        ({"options": {"mem_pattern": "maybe"}}, "`mem_pattern=maybe`: expected on or off"),
        ({"options": {"threads": 1}, "threads": 2}, "threads is given twice"),
        ({"options": 5}, "`options=5`: expected values by name"),
        (
            {"threads": [1, 2], "variants": {"a": {}}},
            "several values of a setting cannot be combined with named variants",
        ),
        ({"variants": {"a": 5}}, "`variants=a`: expected settings by name"),
        ({"variants": {"a": {"thread": 5}}}, "unknown setting 'thread'"),
        ({"variants": {"a": {"threads": [1, 2]}}}, "expected a whole number"),
        ({"variants": {"a": {"runtime": "tea"}}}, "unknown runtime 'tea'"),
        ({"variants": {"a": {"call": "tea"}}}, "unknown call style 'tea'"),
        ({"threads": list(range(1, 40))}, "39 combinations would take about 50.7 s per race"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_in_one_line(keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as refused:
        subjects(**keywords)
    assert said in str(refused.value)


def test_entries_that_are_not_checked_hold_for_variants_by_hand_too() -> None:
    newer = {"session.newer_than_all": "1"}
    variants = {"usual": {}, "lean": {"threads": 1}}
    setups = setups_of("ort", "run", parse({"options_unchecked": newer, "variants": variants}, BENCH))
    assert [setup.session.options for setup in setups] == [newer, newer]


def test_more_than_32_combinations_race_where_all_are_requested() -> None:
    assert len(subjects(threads=list(range(1, 40)), all_combinations=True)) == 39


@pytest.mark.parametrize(
    ("option", "typed", "expected"),
    [
        ("threads", "1,2", ["1", "2"]),
        ("threads", "1", "1"),
        ("options", [f"{SPINNING}=0,1"], {SPINNING: ["0", "1"]}),
        ("options", ["a.b=1", "a.b=2"], {"a.b": ["1", "2"]}),
        ("options", ["a.b=x;1,2"], {"a.b": "x;1,2"}),
        (
            "options",
            ["session.intra_op_thread_affinities=1,2"],
            {"session.intra_op_thread_affinities": "1,2"},
        ),
        ("env", ["onnxruntime==1.20.1,onnxruntime==1.31.1"], ["onnxruntime==1.20.1", "onnxruntime==1.31.1"]),
        ("env", ["onnxruntime>=1.20,<1.22"], ["onnxruntime>=1.20,<1.22"]),
        ("env", ["/usr/bin/python3,onnxruntime==1.31.1"], ["/usr/bin/python3", "onnxruntime==1.31.1"]),
        (
            "variants",
            ["lean: threads=1, arena=off", "usual:", "@some/tuned.settings.json"],
            {"lean": {"threads": "1", "arena": "off"}, "usual": {}, "tuned": "@some/tuned.settings.json"},
        ),
    ],
)
def test_the_command_line_takes_several_values(option: str, typed: object, expected: object) -> None:
    assert BENCH.find(option).typed(typed) == expected


@pytest.mark.parametrize("text", ["lean", "lean: threads", ": threads=1", "lean: =1", "lean: threads="])
def test_a_variant_without_name_or_value_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match="expected NAME: SETTING=VALUE"):
        BENCH.find("variants").typed([text])


SETTINGS = some.fixed_dictionaries(
    {},
    optional={
        "threads": some.integers(1, 64),
        "opt_level": some.sampled_from(["disable", "basic", "all"]),
        "arena": some.sampled_from(["off", "shrinkage"]),
        "mem_pattern": some.booleans(),
        "disabled_optimizers": some.lists(some.sampled_from(["A", "B"]), unique=True),
        "dim.batch": some.integers(0, 9),
        "provider.x": some.text("ab", min_size=1),
        "session.k": some.text("01", min_size=1),
    },
)


@given(settings=SETTINGS)
def test_what_settings_are_called_gives_the_same_settings_again(settings: Mapping[str, Any]) -> None:
    session = session_of(settings)
    assert session_of(named_settings(session)) == session


@given(threads=some.lists(some.integers(1, 99), unique=True, min_size=1, max_size=4), levels=some.booleans())
def test_names_set_all_subjects_apart(threads: list[int], levels: bool) -> None:
    more: dict[str, Any] = {"opt_level": ["basic", "all"]} if levels else {}
    found = subjects(call="run,run-c", threads=threads, **more)
    assert len(set(found)) == len(found) == len(threads) * (1 + levels) * 2


def test_variants_race_each_other_and_their_conditions_are_recorded(linear_proto: onnx.ModelProto) -> None:
    keywords: dict[str, Any] = TINY | {"threads": [1, 2], "options": {SPINNING: "0"}, "opt_level": "basic"}
    result = onnxperf.bench(linear_proto, **keywords)
    assert names(result) == ["threads=1", "threads=2"]
    assert [subject.conditions["threads"] for subject in result.subjects] == [1, 2]
    assert any("opt_level=basic" in note and f"{SPINNING}=0" in note for note in result.record.cases[0].notes)
    assert not any("intra-op" in note for note in result.record.cases[0].notes)


def test_settings_reach_onnxruntime(linear_proto: onnx.ModelProto) -> None:
    lean = {
        "arena": "off",
        "mem_pattern": "off",
        "mem_reuse": "off",
        "execution_mode": "parallel",
        "inter_op_threads": 2,
    }
    result = onnxperf.bench(linear_proto, **(TINY | {"variants": {"usual": {}, "lean": lean}}))
    usual, changed = result.subjects
    assert "arena" not in usual.conditions
    assert {name: changed.conditions[name] for name in lean} == {
        "arena": "off",
        "mem_pattern": False,
        "mem_reuse": False,
        "execution_mode": "parallel",
        "inter_op_threads": 2,
    }


def test_a_library_of_custom_operators_that_does_not_exist_is_one_line(linear_proto: onnx.ModelProto) -> None:
    with pytest.raises(BadInput, match=r"custom operators of 'nowhere\.so' cannot be loaded"):
        onnxperf.bench(linear_proto, **(TINY | {"options": {"custom_ops": "nowhere.so"}}))


def test_a_function_that_takes_one_value_refuses_several(linear_proto: onnx.ModelProto) -> None:
    with pytest.raises(BadOption, match=r"threads has several values; `onnxperf bench` races them"):
        onnxperf.load(linear_proto, threads=[1, 2])


def test_two_variants_are_checked_against_each_other(linear_proto: onnx.ModelProto) -> None:
    result = onnxperf.check(linear_proto, opt_level=["disable", "all"])
    assert (result.record.first, result.record.second) == ("opt_level=disable", "opt_level=all")
    assert result


def test_session_options_have_a_name_for_every_field() -> None:
    fields = set(SessionOptions.__struct_fields__) - {"options", "provider_options", "run_options", "shared_pool"}
    with pytest.raises(BadOption) as refused:
        session_of({"nothing": 1})
    assert set(str(refused.value).partition("choose from: ")[2].split(", ")) == fields - {"fixed_dims"}
