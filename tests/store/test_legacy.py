"""Runs and files that were kept before the house was rebuilt (November 2026) are still read.

`legacy/` was written by the commands that stand in its runs; only folders of that machine were removed, and spaces.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onnxperf.analyze.answers.diff import diff_answer
from onnxperf.analyze.answers.profile import profile_answer
from onnxperf.api._keeping.kept_runs import load_result
from onnxperf.records.race import Bench
from onnxperf.render.kit.documents import from_json
from onnxperf.store import Store, open_store

FOLDER = Path(__file__).parent / "legacy"
RUNS = {
    "nuviza": ("stack", "Of the time of a call, 7 % is spent in kernels, "),
    "sihuha": ("memory", "Line 4 needs the most: 16.1 MB "),
    "zahimo": ("memory", "ort needs 438 kB above model and inputs "),
    "kojubu": ("einsum", "1 of 1 Einsum nodes rewritten; einsum is 1.44 times as fast "),
    "lavofu": ("einsum", "decomposed as written is the fastest for ij,jk->ik: "),
    "vumidu": ("diff", "Undecided: the speedup of all over disable lies between 0.845 and 1.121; "),
    "sopaga": ("profile", "MatMul takes 65 %, Relu takes 35 % of the time in 2 nodes."),
    "zasodo": ("check", "ort and numpy agree on 1 output."),
    "nahiru": ("sweep", ""),
    "bojita": ("bench", "Undecided: the speedup of run-c over run lies between 1.474 and 1.816; "),
}
"""Kind and beginning of the answer, the newest first."""


@pytest.fixture
def legacy(tmp_path: Path) -> Iterator[Store]:
    """A copy: opening a store may change it."""
    with open_store(shutil.copy(FOLDER / "store.sqlite", tmp_path)) as store:
        yield store


def test_every_run_is_listed_with_its_answer(legacy: Store) -> None:
    listed = legacy.runs()
    assert [(run.id, run.kind) for run in listed] == [(name, kind) for name, (kind, _) in RUNS.items()]
    assert {run.status for run in listed} == {"ok"}
    assert all(run.answer.startswith(RUNS[run.id][1]) for run in listed)
    assert [(run.id, run.cases, run.cases_done) for run in listed if run.cases] == [("nahiru", 2, 2), ("bojita", 1, 1)]


@pytest.mark.parametrize(
    ("run", "look", "value"),
    [
        ("nuviza", lambda stack: (stack.name, stack.calls, stack.shares.samples), ("linear", 200, 744)),
        ("sihuha", lambda lines: (lines.function, lines.file, lines.lines[2].peak_bytes), ("work", "fun.py", 16068608)),
        ("zahimo", lambda memory: memory.cases[0].subjects[0].steps[0].peak_bytes, 62066688),
        ("kojubu", lambda rewrite: (rewrite.model, rewrite.output, len(rewrite.sites)), ("einsum", "faster.onnx", 1)),
        ("lavofu", lambda plan: (plan.equation, plan.winner), ("ij,jk->ik", "decomposed as written")),
        ("vumidu", lambda diff: [row.op_name for row in diff.rows], ["MatMul", "Relu"]),
        ("sopaga", lambda profile: [node.usual_us for node in profile.nodes], [24.0, 12.0]),
        ("zasodo", lambda check: (check.first, check.second, check.outputs[0].equal), ("ort", "numpy", True)),
        ("nahiru", lambda bench: [case.dims for case in bench.cases], [{"batch": 1}, {"batch": 8}]),
        ("bojita", lambda bench: bench.cases[0].subjects[1].speedup, 1.4864715845914835),
    ],
)
def test_every_run_is_loaded_with_what_it_measured(
    legacy: Store, run: str, look: Callable[[Any], object], value: object
) -> None:
    assert look(legacy.load_record(run)) == value


def test_the_answer_of_an_old_profile_follows_from_the_times_that_are_shown(tmp_path: Path) -> None:
    result = load_result("sopaga", store=shutil.copy(FOLDER / "store.sqlite", tmp_path))
    assert result.answer.startswith("With the profiler, a call takes 6.59 times as long")
    assert "MatMul_0 takes 67 %" in result.answer
    assert result.answer == profile_answer(result.record)
    shown = load_result("vumidu", store=tmp_path / "store.sqlite")
    assert shown.answer == diff_answer(shown.record)


def test_both_sides_of_a_diff_keep_their_times(legacy: Store) -> None:
    """Whatever the sides are called."""
    document = msgspec.to_builtins(legacy.load_record("vumidu"))
    row = document["rows"][0].values()
    assert (151, 28, 49, 15, 15) in row
    assert (76, 16, 15, 15, 15) in row
    assert [value["model"] for value in document.values() if isinstance(value, dict) and "nodes" in value] == [
        "disable",
        "all",
    ]


@pytest.mark.parametrize(("file", "run"), [("bench.json", "bojita"), ("sweep.json", "nahiru")])
def test_a_file_holds_the_same_bench_as_the_store(legacy: Store, file: str, run: str) -> None:
    assert from_json((FOLDER / file).read_bytes(), Bench) == legacy.load(run)


def test_a_bench_is_read_back_from_its_file() -> None:
    bench: Bench = from_json((FOLDER / "bench.json").read_bytes(), Bench)
    (case,) = bench.cases
    first, second = case.subjects
    assert (case.model, case.dims, case.shapes, case.baseline) == ("linear", {"batch": 1}, {"X": (1, 10)}, "run")
    assert (second.name, second.call, second.verdict, second.looks) == ("run-c", "run-c", "undecided", 1)
    assert (len(first.blocks), len(second.blocks), len(second.call_ns)) == (8, 8, 250)
    assert (second.blocks[0].position, second.blocks[0].calls, second.blocks[0].duration_ns) == (1, 20, 121066)
    assert (second.median_ns, second.p99_ns) == (6222.11692162406, None)


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.json")))
def test_a_file_names_the_command_of_a_run_in_the_store(legacy: Store, file: str) -> None:
    document = json.loads((FOLDER / file).read_text())
    assert document["version"] == 1
    # `check` has no command in its record.
    assert document.get("command", "") in [run.command for run in legacy.runs()]
