"""What a tuning says, and the program that it prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from msgspec.structs import replace

from onnxperf.analyze.answers.tune import DEMANDS, notes_on, tune_answer
from onnxperf.analyze.answers.tune_snippet import snippet
from onnxperf.records.tune import NO_TIME, TuneChoice, TuneRow, Tuning
from onnxperf.runtimes.find import find_runtime
from onnxperf.tuning.base import ModelFacts
from onnxperf.tuning.knobs import choices_for

SPINNING = TuneChoice(name="allow_spinning=0", knobs=("spinning",), settings={"session.intra_op.allow_spinning": "0"})
ROW = TuneRow(choice=SPINNING, status="ok", launch_speedups=(1.3, 1.2, 1.25), speedup=1.25)
TUNED = Tuning(
    model="m",
    outcome="tuned",
    winner=SPINNING,
    tried=SPINNING,
    rows=(ROW,),
    gain=1.25,
    gain_low=1.2,
    gain_high=1.3,
    verdict="faster",
    before=100_000.0,
    after=80_000.0,
)
SKIPPED = TuneRow(choice=replace(SPINNING, name="arena=off"), status="skipped", reason=f"{NO_TIME} to try it")
INT8 = TuneChoice(name="int8", knobs=("rewrite",), rewrite="int8", approximate=True)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (
            TUNED,
            "allow_spinning=0 is 1.25× as fast as the defaults (95 % CI 1.20–1.30).\n80.0 µs instead of "
            "100 µs in a race of its own, on fresh inputs; 1 of 1 candidate tried.",
        ),
        (
            replace(TUNED, goal="cpu"),
            "allow_spinning=0 uses 0.80× the CPU time of the defaults (95 % CI 0.77–0.83).\n80.0 µs "
            "instead of 100 µs in a race of its own, on fresh inputs; 1 of 1 candidate tried.",
        ),
        (
            replace(TUNED, goal="memory", before=100e6, after=80e6),
            "allow_spinning=0 needs 0.80× the memory of the defaults (95 % CI 0.77–0.83).\n80.0 MB "
            "instead of 100 MB in fresh processes, on fresh inputs; 1 of 1 candidate tried.",
        ),
        (
            replace(TUNED, outcome="defaults", winner=None, verdict="undecided"),
            "Keep the defaults: the best of 1 candidate, allow_spinning=0, was not proven better than the defaults in "
            "a race of its own, on fresh inputs (1.25× as good, 95 % CI 1.20–1.30).",
        ),
        (
            replace(TUNED, outcome="defaults", winner=None, tried=None, gain=None, verdict=None),
            "Keep the defaults: the only candidate was not better by 1 % or more.",
        ),
        (
            Tuning(model="m", outcome="defaults", rows=(*TUNED.rows, SKIPPED)),
            "Keep the defaults: none of the 1 of 2 candidates tried was better by 1 % or more.",
        ),
        (Tuning(model="m", outcome="defaults"), "Keep the defaults: there is nothing to try for this model."),
        (
            Tuning(model="m", outcome="unanswered", rows=(ROW, SKIPPED, SKIPPED)),
            "No answer: 1 of 3 candidates tried; increase `time`.",
        ),
        (
            replace(TUNED, outcome="unanswered", winner=None, verdict="undecided", rows=(ROW, SKIPPED, SKIPPED)),
            "No answer: 1 of 3 candidates tried; increase `time`. The best of them, allow_spinning=0, was not proven "
            "better than the defaults in a race of its own, on fresh inputs (1.25× as good, 95 % CI 1.20–1.30).",
        ),
        (
            replace(TUNED, outcome="unanswered", winner=None, verdict="undecided", gain=None),
            "No answer: 1 of 1 candidate tried; increase `time`. The best of them, allow_spinning=0, was not proven "
            "better than the defaults.",
        ),
        (
            replace(TUNED, outcome="unconfirmed", gain=None, interrupted=True),
            "Unconfirmed: the best so far is allow_spinning=0: 1.25× as good as the defaults in the search. The "
            "best of many looks better than it is.",
        ),
        (
            Tuning(model="m", outcome="unconfirmed", interrupted=True),
            "Unconfirmed: nothing was better than the defaults so far.",
        ),
    ],
)
def test_the_answer_of_every_outcome(record: Tuning, words: str) -> None:
    assert tune_answer(record) == words


@pytest.mark.parametrize(
    ("max_error", "words"),
    [
        (None, "int8 was 3.00× as good in the search with an error of 2 % (`max_error` allows it)."),
        (0.01, "int8 was 3.00× as good in the search with an error of 2 %, which is more than allowed."),
    ],
)
def test_an_approximate_choice_that_was_not_chosen_is_named(max_error: float | None, words: str) -> None:
    row = TuneRow(choice=INT8, status="ok", speedup=3.0, error=0.02)
    assert tune_answer(replace(TUNED, rows=(ROW, row), max_error=max_error)).endswith(words)


def test_notes_name_what_was_not_tried_what_differs_and_what_the_winner_asks_for() -> None:
    rows = (
        TuneRow(choice=SPINNING, status="skipped", reason="no time was left to try it"),
        TuneRow(choice=replace(SPINNING, name="denormals"), status="differs", reason="output Y differs"),
    )
    winner = TuneChoice(name="bound", knobs=("call", "dimensions"), call="io-binding-inplace")
    notes = notes_on(replace(TUNED, rows=rows, winner=winner, left_out=("arena=off", "mem_pattern=off")))
    assert notes[0] == "1 candidate not tried for lack of time: allow_spinning=0; increase `time`, or `resume`"
    assert notes[1] == "denormals: outputs differ (output Y differs)"
    assert notes[2] == "left out, as the winner is as good without: arena=off, mem_pattern=off"
    assert notes[3] == "fixed dimensions: the session accepts no other sizes"
    assert notes[4].startswith("call=io-binding-inplace: inputs have to be written into the same buffers")


def test_every_setting_that_changes_numbers_or_what_a_caller_may_do_is_explained_in_a_line() -> None:
    facts = ModelFacts(symbolic={"n": 4}, calls=find_runtime("ort").call_names, operators={"Einsum": 1, "Gelu": 1})
    demanding = {each.name: each for each in choices_for(facts, approximate=True) if each.demands}
    assert set(demanding) == {
        "call=ort-values",
        "call=io-binding-fixed",
        "call=io-binding-inplace",
        "rewrite=einsum",
        "dim.n=4",
        "set_denormal_as_zero=1",
        "enable_gelu_approximation=1",
    }
    for choice in demanding.values():
        assert notes_on(replace(TUNED, winner=choice)) == [DEMANDS[each] for each in choice.demands]


# ---------------------------------------------------------------- the program

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
small (float[batch, 3] X) => (float[batch, 3] Y, float[batch, 3] Z) { Y = Add(X, X)  Z = Relu(X) }
"""
SETTINGS: dict[str, str] = {
    "threads": "1",
    "inter_op_threads": "2",
    "execution_mode": "parallel",
    "execution_order": "priority-based",
    "opt_level": "basic",
    "arena": "off",
    "mem_pattern": "off",
    "mem_reuse": "off",
    "disabled_optimizers": "ReshapeFusion+ConstantFolding",
    "dim.batch": "2",
    "session.intra_op.allow_spinning": "0",
}


def outputs_of(program: str, path: Any, inputs: dict[str, Any]) -> list[Any]:
    names: dict[str, Any] = {"inputs": inputs}
    exec(program, names)
    return [np.array(each) for each in names["outputs"]]


@pytest.mark.parametrize("call", ["run", "run-c", "ort-values", "io-binding", "io-binding-fixed", "io-binding-inplace"])
@pytest.mark.parametrize("settings", [{}, SETTINGS, {"arena": "shrinkage"}, {"arena": "same-as-requested"}])
def test_the_program_runs_with_onnxruntime_alone_in_every_call_style(
    tmp_path: Any, call: str, settings: dict[str, str]
) -> None:
    path = tmp_path / "it's.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    inputs = {"X": np.array([[1, -2, 3], [4, 5, -6]], dtype=np.float32)}
    program = snippet(TuneChoice(name="a", knobs=("a",), settings=settings, call=call), str(path), 2)
    assert "onnxperf" not in program.replace(str(path), "")
    expected = onnxruntime.InferenceSession(str(path)).run(None, inputs)
    for ours, theirs in zip(outputs_of(program, path, inputs), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_program_of_another_runtime_opens_that(tmp_path: Any) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    program = snippet(TuneChoice(name="a", knobs=("a",), runtime="numpy"), str(path), 1)
    names: dict[str, Any] = {"inputs": {"X": np.ones((2, 3), dtype=np.float32)}}
    exec(program, names)
    np.testing.assert_array_equal(names["outputs"]["Y"], np.full((2, 3), 2, dtype=np.float32))
    assert "import openvino" in snippet(TuneChoice(name="a", knobs=("a",), runtime="openvino"), str(path), 1)
