"""One model profiled under several variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import onnxperf
from onnxperf.analyze.answers.profiles import profiles_answer
from onnxperf.api._shared.requests import parse
from onnxperf.cli.main import run
from onnxperf.errors import BadOption
from onnxperf.options.functions import PROFILE, gives_several
from onnxperf.records.profile import OperatorTime, Profile
from onnxperf.records.profiles import Profiles


def profile(name: str, **times: float) -> Profile:
    """A profile of these operators."""
    operators = [
        OperatorTime(op_name=op, calls=1, self_us=(int(us),), usual_us=us, nodes=1, total_us=(int(us),))
        for op, us in times.items()
    ]
    return Profile(model=name, events=1, iterations=1, operators=tuple(operators))


CASES = {
    "Conv takes the most time: 30 µs with a and 20 µs with b.": [
        profile("a", Conv=30, Add=10),
        profile("b", Conv=20, Add=10),
    ],
    "The most time goes to Conv with a (30 µs) and Add with b (12 µs).": [
        profile("a", Conv=30, Add=10),
        profile("b", Conv=8, Add=12),
    ],
    "With the profiler, a call takes 4.00× as long: times of nodes are mostly the profiler's.\nConv takes the most "
    "time: 30 µs with a and 20 µs with b.": [
        replace(profile("a", Conv=30), profiled_ns=2.0, unprofiled_ns=1.0),
        replace(profile("b", Conv=20), profiled_ns=4.0, unprofiled_ns=1.0),
    ],
    "No node took any time that the traces could show.": [profile("a"), profile("b", Add=0)],
}


@pytest.mark.parametrize(("text", "variants"), list(CASES.items()))
def test_the_answer_names_what_takes_the_most_time_under_each_variant(text: str, variants: list[Profile]) -> None:
    assert profiles_answer(Profiles(model="m", variants=tuple(variants))) == text


def test_each_value_of_a_setting_has_a_column_and_a_profile_of_its_own(linear_path: Path) -> None:
    result = onnxperf.profile(linear_path, calls=3, opt_level=["disable", "all"], threads=1)
    assert isinstance(result, onnxperf.ProfilesResult)
    frame = result.table("operators")
    assert list(frame.columns) == ["op_name", "opt_level=disable", "opt_level=all"]
    session = result["opt_level=all"].record.session
    assert session is not None
    assert session.opt_level == "all"
    assert set(result.table("nodes")["variant"]) == {"opt_level=disable", "opt_level=all"}
    assert result.plot() is not None


def test_variants_by_name_are_profiled_on_the_command_line_and_kept(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "profiles.json"
    named = ["--variant", "one: threads=1", "--variant", "lean: threads=1, arena=off"]
    assert run(["profile", str(linear_path), "--calls", "3", *named, "-o", str(written)]) == 0
    assert [each["model"] for each in json.loads(written.read_text())["variants"]] == ["one", "lean"]
    assert "lean" in capsys.readouterr().out


REFUSED = {
    "-o a.trace.json": "--output a.trace.json: several variants are profiled; this needs one of them",
    "-o a.perfetto.json": "--output a.perfetto.json: several variants are profiled; this needs one of them",
    "--roofline": "--roofline: several variants are profiled; this needs one of them",
    "--top 5": "--top: it does nothing with several variants",
    "--all": "--all: it does nothing with several variants",
}


@pytest.mark.parametrize("option", REFUSED)
def test_what_one_profile_has_is_refused_where_there_are_several(
    linear_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["profile", str(linear_path), "--threads", "1,2", *option.split()]) == 2
    assert REFUSED[option] in capsys.readouterr().err


TYPED: dict[str, tuple[dict[str, Any], int]] = {
    "nothing": ({}, 1),
    "one value": ({"threads": "2", "options": {"arena": "off"}}, 1),
    "a list of one": ({"env": ["onnxruntime==1.20.1"]}, 1),
    "two numbers of threads": ({"threads": ["1", "2"]}, 2),
    "two levels": ({"opt_level": ["basic", "all"]}, 2),
    "two values of an option": ({"options": {"arena": ["on", "off"]}}, 2),
    "two values of an unchecked option": ({"options_unchecked": {"session.new": ["0", "1"]}}, 2),
    "one named variant": ({"variants": {"lean": {"threads": "1"}}}, 1),
    "two named variants": ({"variants": {"lean": {"threads": "1"}, "usual": {}}}, 2),
}


@pytest.mark.parametrize("what", TYPED)
def test_the_command_knows_whether_the_function_returns_several_profiles(what: str) -> None:
    typed, number = TYPED[what]
    assert len(parse(typed, PROFILE).given) == number
    assert gives_several(typed) == (number > 1)


def test_too_many_combinations_are_refused(linear_path: Path) -> None:
    with pytest.raises(BadOption, match="33 combinations"):
        onnxperf.profile(linear_path, threads=list(range(1, 34)))


def test_a_trace_has_no_variants(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text("[]")
    with pytest.raises(BadOption, match="name a model"):
        onnxperf.profile(trace, threads=[1, 2])
