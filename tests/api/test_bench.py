"""`onnxperf.bench` from end to end, with plans so small that they take no time."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onnxperf
from onnxperf.api._shared.subjects import open_entries, refuse_options_of_models
from onnxperf.errors import BadFeed, BadInput, BadModel, BadOption
from onnxperf.measure.machine import noise
from onnxperf.measure.machine.describe import describe_machine
from onnxperf.options.functions import CASE
from onnxperf.records.options import InputOptions, RaceOptions, SessionOptions, SourceOptions, Tolerances, WorkerLimits
from onnxperf.results.bench import BenchResult
from onnxperf.runtimes.ort.calls import CALLS

TINY: dict[str, Any] = {"blocks": 2, "calls_per_block": 3, "warmup": 0.0, "threads": 1, "time": 0.1}


def bench(model: Any, **keywords: Any) -> BenchResult:
    return onnxperf.bench(model, **(TINY | keywords))


def names(result: BenchResult) -> list[str]:
    return [subject.name for subject in result.subjects]


def double(x: Any) -> Any:
    return x + x


def local(name: str) -> Callable[..., Any]:
    """Callables of a user, who may have written them anywhere."""

    def crash(_x: Any) -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGSEGV)

    def fail(_x: Any) -> None:
        raise ValueError("not today")

    def double(x: Any) -> Any:
        return x + x

    return {"crash": crash, "fail": fail, "double": double}[name]


# ---------------------------------------------------------------- who races


def test_a_model_alone_is_one_subject(linear_path: Path) -> None:
    result = bench(linear_path)
    assert names(result) == ["ort"]
    subject = result["ort"]
    assert (subject.status, subject.runtime, subject.call, subject.model) == ("ok", "ort", "run", "linear")
    assert [block.calls for block in subject.blocks] == [3, 3]
    assert subject.median_ns is not None
    assert subject.load_ns is not None
    assert subject.first_call_ns is not None
    assert subject.input_bytes == 40
    assert subject.conditions["threads"] == 1
    assert result.ok
    assert not result.interrupted
    assert result.answer.startswith("ort takes ")


def test_all_call_styles_race_in_their_own_order(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, call="all")
    assert names(result) == list(CALLS)
    assert result.ok
    assert [subject.verdict for subject in result.subjects] == ["baseline"] + ["undecided"] * 5
    (reason,) = {subject.reason for subject in result.subjects[1:]}
    assert re.fullmatch(r"2 rounds are too few: use `time=\d+`", reason)
    for subject in result.subjects:
        assert [block.round for block in subject.blocks] == [0, 1]
    assert [{s.blocks[r].position for s in result.subjects} for r in (0, 1)] == [set(range(6))] * 2


@pytest.mark.parametrize("call", ["run-c,run", "run-c, run , run-c", ["run-c", "run"], ("run-c", "run")])
def test_call_styles_come_in_the_order_asked_for(linear_bytes: bytes, call: Any) -> None:
    assert names(bench(linear_bytes, call=call)) == ["run-c", "run"]


@pytest.mark.parametrize(
    ("runtime", "call", "expected"),
    [
        ("ort,reference", "run", ["ort", "reference"]),
        ("reference", "run", ["reference"]),
        ("reference,ort", "run,run-c", ["reference", "run", "run-c"]),
    ],
)
def test_runtimes_race_each_other(linear_bytes: bytes, runtime: str, call: str, expected: list[str]) -> None:
    result = bench(linear_bytes, runtime=runtime, call=call)
    assert names(result) == expected
    assert result.ok


def test_several_models_race_under_their_labels(linear_path: Path, linear_proto: onnx.ModelProto) -> None:
    result = bench([linear_path, linear_proto])
    assert len(set(names(result))) == 2
    assert names(result)[0] == "linear"
    assert result.ok
    assert len(result.cases[0].fingerprint) == 2


def test_a_note_that_holds_for_all_models_is_said_once(linear_path: Path, linear_proto: onnx.ModelProto) -> None:
    notes = bench({"old": linear_path, "new": linear_proto}).cases[0].notes
    (told,) = [note for note in notes if "unset dimensions" in note]
    assert told.startswith("unset dimensions default to 1: ")


def test_a_dict_of_models_names_them(linear_path: Path, linear_bytes: bytes) -> None:
    assert names(bench({"old": linear_path, "new": linear_bytes})) == ["old", "new"]
    both = bench({"old": linear_path, "new": linear_bytes}, call="run,run-c")
    assert names(both) == ["old · run", "old · run-c", "new · run", "new · run-c"]


def test_callables_race_against_the_model_with_its_inputs(linear_bytes: bytes) -> None:
    feeds = {"X": np.ones((5, 10), np.float32)}
    result = bench(linear_bytes, feeds=feeds, against={"twice": local("double"), "numpy": np.negative})
    assert names(result) == ["ort", "twice", "numpy"]
    assert (result["twice"].runtime, result["twice"].call, result["twice"].model) == ("callable", None, None)
    assert result["twice"].load_ns is None
    assert result.ok
    assert result.cases[0].shapes == {"X": (5, 10)}
    assert result.cases[0].dims == {"batch": 5}


def test_positional_arguments_come_in_the_order_of_the_models_inputs() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] A, int64[3] B) => (float[2] Y) { Y = Neg(A) }'

    def check(a: Any, b: Any) -> None:
        assert (a.shape, str(a.dtype), b.shape, str(b.dtype)) == ((2,), "float32", (3,), "int64")

    feeds = {"B": np.arange(3), "A": np.ones(2, np.float32)}
    result = bench(onnx.parser.parse_model(text), feeds=feeds, against={"check": check})
    assert result["check"].status == "ok", result["check"].reason


@pytest.mark.parametrize(
    ("set_here", "check_finite", "assumed"),
    [(False, None, False), (True, None, True), (False, False, True), (True, True, False)],
)
def test_assume_finite_is_what_it_is_here_unless_requested_otherwise_and_stands_in_the_row(
    linear_bytes: bytes, set_here: bool, check_finite: bool | None, assumed: bool
) -> None:
    import sklearn
    from sklearn.linear_model import LinearRegression

    features = np.random.default_rng(0).random((20, 10), np.float32)
    predict = LinearRegression().fit(features, features[:, 0]).predict
    with sklearn.config_context(assume_finite=set_here):
        result = bench(linear_bytes, feeds={"X": features}, against={"skl": predict}, check_finite=check_finite)
    assert result.ok
    assert result["skl"].conditions["assume_finite"] is assumed
    assert any("assume_finite=True" in note for note in result.cases[0].notes) is assumed


# ---------------------------------------------------------------- options


def test_the_baseline_goes_by_its_name(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, call="run,run-c", baseline="run-c")
    assert result.cases[0].baseline == "run-c"
    assert result["run-c"].verdict == "baseline"
    assert result["run"].speedup is not None


def test_inputs_of_another_type_are_cast_within_the_call_where_asked(linear_bytes: bytes) -> None:
    feeds = {"X": np.ones((2, 10), np.float64)}
    result = bench(linear_bytes, feeds=feeds, call="all", cast=True)
    statuses = {subject.name: subject.status for subject in result.subjects}
    assert statuses.pop("io-binding-inplace") == "skipped"
    assert set(statuses.values()) == {"ok"}
    assert "does not copy its inputs" in result["io-binding-inplace"].reason
    assert any("cast from float64 to float32" in note for note in result.cases[0].notes)
    assert result.cases[0].status == "ok"


def test_a_call_is_divided_where_asked(linear_bytes: bytes) -> None:
    feeds = {"X": np.ones((20_000, 10), np.float64)}
    keywords: dict[str, Any] = {"feeds": feeds, "cast": True, "call": "run,io-binding", "against": {"own": double}}
    result = bench(linear_bytes, split=True, **keywords)
    for name in ("run", "io-binding"):
        split = result[name].split
        assert split is not None
        assert split.prepare_ns > 0
        assert split.compute_ns > 0
        assert split.calls >= 3
    assert result["own"].split is None
    assert "What a call is made of" in repr(result)
    assert {"prepare_ns", "compute_ns", "fetch_ns"} <= set(result.to_df().columns)
    assert bench(linear_bytes, **keywords)["run"].split is None


@pytest.mark.parametrize("runtime", ["numpy", "reference"])
def test_runtimes_that_know_only_arrays_divide_their_calls_too(linear_bytes: bytes, runtime: str) -> None:
    split = bench(linear_bytes, runtime=runtime, split=True)[runtime].split
    assert split is not None
    assert split.compute_ns > 0


def test_session_options_reach_the_session_and_are_told(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, opt_level="basic", options={"session.dynamic_block_base": "4"}, threads=2)
    conditions = result["ort"].conditions
    assert (conditions["threads"], conditions["opt_level"]) == (2, "basic")
    assert conditions["option session.dynamic_block_base"] == "4"
    assert "settings of all subjects: `opt_level=basic`, `session.dynamic_block_base=4`" in result.cases[0].notes


def test_threads_are_set_even_when_nobody_asks(linear_bytes: bytes) -> None:
    threads = bench(linear_bytes, threads=None)["ort"].conditions["threads"]
    assert isinstance(threads, int)
    assert threads >= 1


def test_a_dimension_that_nobody_set_becomes_one_and_the_result_says_so(linear_bytes: bytes) -> None:
    assert any("default to 1: batch" in note for note in bench(linear_bytes).cases[0].notes)
    assert bench(linear_bytes, dims={"batch": 7}).cases[0].shapes == {"X": (7, 10)}
    assert bench(linear_bytes, shapes={"X": [3, 10]}).cases[0].dims == {"batch": 3}


@pytest.mark.parametrize(("band", "expected"), [(0.03, 0.03), (0.001, 0.01)])
def test_the_minimum_effect_is_never_below_the_noise_of_the_machine(
    linear_bytes: bytes, band: float, expected: float
) -> None:
    noise.remember(band, describe_machine().cpu, "2026-01-01")
    case = bench(linear_bytes).cases[0]
    assert case.min_effect == expected
    assert any("minimum effect raised" in note for note in case.notes) is (expected > 0.01)


def test_the_keywords_are_the_fields_of_the_option_records() -> None:
    records = (SessionOptions, InputOptions, RaceOptions, WorkerLimits, SourceOptions, Tolerances)
    fields = [set(record.__struct_fields__) for record in records]
    fields[0] = {
        "threads",
        "provider",
        "opt_level",
        "env",
        "options",
        "options_unchecked",
    }  # all others are in `options`
    fields[2] -= {"alpha_share", "max_slowdown"}  # of a race that is one of several, and of a gate
    others = {"yardstick", "variants", "all_combinations", "call", "runtime", "feeds", "against", "batch"}
    assert set(CASE.options) == others.union(*fields)


def test_progress_is_reported(linear_bytes: bytes) -> None:
    reports: list[tuple[float, str]] = []
    bench(linear_bytes, progress=lambda done, text: reports.append((done, text)))
    assert [text for _, text in reports][:2] == ["starting workers", "loading model"]
    assert all(0 <= done <= 1 for done, _ in reports)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"call": "fly"}, r"unknown call style 'fly'; choose from: run, run-c, .*all"),
        ({"runtime": "tvm"}, r"unknown runtime 'tvm'; choose from: ort, numpy, reference"),
        ({"baseline": "skl"}, r"unknown baseline 'skl'; choose from: ort"),
        ({"no_such_option": 1}, r"unknown option 'no_such_option'; choose from: .*min_effect.*warmup"),
        ({"provider": "tpu"}, r"provider 'tpu'; choose from: .*cpu"),
        (
            {"opt_level": "most"},
            r"unknown optimization level 'most'; choose from: disable, basic, extended, layout, all",
        ),
        ({"threads": 0}, r"`threads=0`: expected a whole number from 1"),
        ({"time": 0}, r"`time=0.*`: expected more than 0 seconds"),
        ({"min_effect": 5}, r"`min_effect=5.*`: expected between 0 and 1"),
        ({"warmup": -1}, r"`warmup=-1.*`: expected at least 0 seconds"),
        ({"blocks": 0}, r"`blocks=0`: expected at least 1"),
        ({"calls_per_block": 0}, r"`calls_per_block=0`: expected at least 1"),
        ({"timeout": 0}, r"`timeout=0.*`: expected more than 0 seconds"),
        ({"blocks": "many"}, r"`blocks=many`: 'many' is not a whole number"),
        ({"against": {"ort": double}}, r"two subjects are named 'ort'"),
        ({"against": {"five": 5}}, r"expected an estimator, a model or a function, not int"),
        ({"against": {"stuck": threading.Lock().acquire}}, r"'stuck' cannot be sent to a process of its own"),
    ],
)
def test_a_wrong_option_is_refused_in_one_line_that_lists_the_valid_ones(
    linear_bytes: bytes, keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadOption, match=message) as refused:
        bench(linear_bytes, **keywords)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"feeds": {"Z": np.ones((1, 10), np.float32)}}, "no input 'Z'; its inputs are: X"),
        ({"feeds": {"X": np.ones((1, 10))}}, "input 'X': expected float32, got float64"),
        ({"feeds": {"X": np.ones(10, np.float32)}}, "X"),
        ({"feeds": {"X": np.ones((10, 2), np.float32).T}, "call": "io-binding"}, "contiguous"),
    ],
)
def test_a_wrong_input_is_refused_in_one_line(linear_bytes: bytes, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadFeed, match=message) as refused:
        bench(linear_bytes, **keywords)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("model", [[], (), {}])
def test_no_model_at_all_is_refused(model: Any) -> None:
    with pytest.raises(BadInput, match="no model"):
        bench(model)


def test_a_model_that_no_runtime_can_load_is_bad_input() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[n] X) => (float[n] Y) { Y = Foo(X) }'
    with pytest.raises(BadInput, match="operator Foo does not exist in opset 17") as refused:
        bench(onnx.parser.parse_model(text))
    assert "\n" not in str(refused.value)


def test_what_is_no_model_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(BadModel):
        bench(tmp_path / "missing.onnx")


def test_inputs_in_foreign_byte_order_are_cast_like_any_other_type(linear_bytes: bytes) -> None:
    feeds = {"X": np.ones((2, 10), ">f4")}
    entries = open_entries(linear_bytes, InputOptions(cast=True), feeds)
    assert entries[0].casts == {"X": "float32"}


@pytest.mark.parametrize(
    "keywords",
    [
        {"call": ""},
        {"runtime": ""},
    ],
)
def test_an_empty_choice_is_refused_as_such(linear_bytes: bytes, keywords: dict[str, Any]) -> None:
    with pytest.raises(BadOption, match=r"choose from: .*(run-c|reference)"):
        bench(linear_bytes, **keywords)


# ---------------------------------------------------------------- what goes wrong on the way


def test_a_callable_that_crashes_is_a_row_and_the_others_finish(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, call="run,run-c", against={"bad": local("crash"), "good": local("double")})
    assert not result.ok
    assert (result["bad"].status, result["bad"].blocks) == ("crashed", ())
    assert result["bad"].reason == "killed by SIGSEGV"
    for name in ("run", "run-c", "good"):
        assert (result[name].status, len(result[name].blocks)) == ("ok", 2)
    assert result.cases[0].status == "crashed"


def test_a_callable_that_raises_is_a_row_with_its_reason(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, against={"bad": local("fail")})
    assert (result["bad"].status, result["bad"].reason) == ("failed", "ValueError: not today")
    assert result["ort"].status == "ok"
    assert not result.ok


def test_a_baseline_that_fails_gives_way_to_the_first_that_was_measured(linear_bytes: bytes) -> None:
    result = bench(linear_bytes, call="run,run-c", against={"bad": local("fail")}, baseline="bad")
    assert result.cases[0].baseline == "run"
    assert any("baseline bad was not measured" in note for note in result.cases[0].notes)


def test_an_interrupt_returns_what_was_measured(linear_bytes: bytes) -> None:
    def interrupt(_done: float, text: str) -> None:
        if text.startswith("round 3"):
            os.kill(os.getpid(), signal.SIGINT)

    result = bench(linear_bytes, call="run,run-c", blocks=50, progress=interrupt)
    assert result.interrupted
    assert [len(subject.blocks) for subject in result.subjects] == [2, 2]


def test_the_table_has_the_columns_of_the_notebooks(linear_bytes: bytes) -> None:
    table = bench(linear_bytes, call="run,run-c").to_df()
    classic = ["name", "average", "deviation", "min_exec", "max_exec", "repeat", "number", "ttime", "context_size"]
    assert list(table.columns)[: len(classic)] == classic
    assert table["name"].tolist() == ["run", "run-c"]
    assert table["number"].tolist() == [3, 3]


def test_functions_race_without_a_model() -> None:
    result = onnxperf.bench({"one": lambda: sum(range(10)), "many": lambda: sum(range(2000))}, time=0.3, threads=1)
    (case,) = result.record.cases
    assert case.model == "one, many"
    assert [subject.status for subject in case.subjects] == ["ok", "ok"]
    assert [subject.verdict is not None and bool(subject.blocks) for subject in case.subjects] == [True, True]
    assert (result["many"].speedup or 1.0) < 1.0  # two hundred times as much to add up


def test_models_and_functions_are_not_raced_from_one_dict(linear_path: Path) -> None:
    with pytest.raises(onnxperf.BadOption, match="'m' is not a function"):
        onnxperf.bench({"m": linear_path, "f": len})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keywords", "option"),
    [
        ({"feeds": {"X": np.ones(2)}}, "`feeds=X`"),
        ({"dims": {"batch": [1, 2]}}, "`dims=batch`"),
        ({"shapes": {"X": (2, 2)}}, "`shapes=X`"),
        ({"ranges": {"X": (0, 1)}}, "`ranges=X`"),
        ({"cast": True}, "`cast`"),
        ({"against": {"double": double}}, "`against=double`"),
        ({"against": "torch"}, "`against=torch`"),
        ({"runtime": ["numpy"]}, "`runtime=numpy`"),
        ({"call": "all"}, "`call=all`"),
    ],
)
def test_functions_have_no_options_of_models(keywords: dict[str, Any], option: str) -> None:
    with pytest.raises(BadOption, match=f"^{option}: a function is called without arguments; leave it out$"):
        bench({"f": lambda: 1}, **keywords)


def test_values_that_stand_for_no_wish_are_no_options_of_models() -> None:
    given: dict[str, Any] = {"feeds": None, "dims": {}, "cast": False, "runtime": ["ort"], "call": "run", "threads": 1}
    refuse_options_of_models(given, {"call": "run", "runtime": "ort"})
