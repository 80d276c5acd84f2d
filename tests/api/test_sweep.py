"""Plans of sweeps: which cases they have, what they are called, and what is refused."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnxperf
from onnxperf.api._keeping.run_recorder import RunRecorder
from onnxperf.api._keeping.run_writer import RunWriter, WaitsAs
from onnxperf.api._shared.cells import Cell, run_cells
from onnxperf.api._shared.estimates import estimate
from onnxperf.api._shared.plans import SweepPlan, check_models, plan_cells
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.sources import sources_of
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.errors import BadInput, BadOption
from onnxperf.options.functions import BENCH, CASE
from onnxperf.records.race import Case
from onnxperf.results.bench import BenchResult
from onnxperf.store import CaseRow, RunRow, open_store

TINY = {"threads": 1, "blocks": 1, "calls_per_block": 1, "warmup": 0}
SOURCE = "def make():\n    return lambda X: X[:, :4]\n\nnumber = 3\n"


def keys(plan: str | Path | Mapping[str, Any]) -> list[str]:
    return [cell.key for cell in plan_cells(plan)]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# ---------------------------------------------------------------- cases


def test_every_combination_of_sizes_is_a_case_of_every_model() -> None:
    plan = {"models": ["a.onnx", {"path": "b.onnx"}], "dims": {"batch": [1, 2], "seq": [10, 50]}}
    sizes = ["batch=1 seq=10", "batch=1 seq=50", "batch=2 seq=10", "batch=2 seq=50"]
    assert keys(plan) == [f"{model} {size}" for model in ("a.onnx", "b.onnx") for size in sizes]
    assert plan_cells(plan)[3].dims == {"batch": 2, "seq": 50}


def test_a_model_may_have_sizes_of_its_own() -> None:
    plan = {
        "models": ["a.onnx", {"path": "b.onnx", "dims": {"batch": [8, 16]}}, {"path": "c.onnx", "dims": {"seq": 7}}],
        "dims": {"batch": 4},
    }
    assert keys(plan) == ["a.onnx batch=4", "b.onnx batch=8", "b.onnx batch=16", "c.onnx batch=4 seq=7"]


def test_a_plan_without_sizes_has_one_case_per_model() -> None:
    assert keys({"models": ["a.onnx", "zoo:tiny-linear"]}) == ["a.onnx", "zoo:tiny-linear"]


def test_a_file_says_the_same_as_a_dictionary(tmp_path: Path) -> None:
    path = written(
        tmp_path / "plan.toml",
        """
        models = ["zoo:tiny-linear", { path = "a.onnx", dims = { batch = [3] } }]
        call = ["run", "io-binding"]
        [dims]
        batch = [1, 2]
        [options]
        time = 1.0
        memory_limit = 2_000_000_000
        """,
    )
    assert keys(path) == keys(str(path)) == ["zoo:tiny-linear batch=1", "zoo:tiny-linear batch=2", "a.onnx batch=3"]


def test_keys_do_not_depend_on_where_the_plan_is_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "plan.toml", 'models = ["sub/a.onnx"]\ndims = { batch = [1, 2] }')
    monkeypatch.chdir(tmp_path)
    here = keys("plan.toml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert here == keys("../plan.toml") == keys(tmp_path / "plan.toml") == ["sub/a.onnx batch=1", "sub/a.onnx batch=2"]


def test_each_framework_of_a_zoo_model_has_cases_of_its_own() -> None:
    plan = {"models": [{"path": "zoo:tiny-linear", "against": ["sklearn"]}], "dims": {"batch": [1, 2]}}
    assert keys(plan) == ["zoo:tiny-linear sklearn batch=1", "zoo:tiny-linear sklearn batch=2"]


def test_the_estimate_grows_with_cases_and_with_the_time_of_a_race() -> None:
    one = plan_cells({"models": ["a.onnx"]})
    four = plan_cells({"models": ["a.onnx"], "dims": {"batch": [1, 2, 3, 4]}})
    short, long = (plan_cells({"models": ["a.onnx"], "options": {"time": time}}) for time in (1, 60))
    assert estimated(four) == pytest.approx(4 * estimated(one))
    assert estimated(long) > 55 > estimated(short) > 1
    assert estimated([]) == 0


def estimated(cells: Sequence[Cell], start_s: float = 0.12) -> float:
    return estimate(cells, lambda: start_s).total_s


def test_the_estimate_counts_starts_builds_and_the_speed_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # nothing is built yet
    sizes = {"batch": [1, 4], "seq": [10, 100]}
    alone, raced = (
        plan_cells({"models": [{"path": "zoo:bert-base", "against": against}], "dims": sizes}, listed=True)
        for against in ([], ["torch"])
    )
    found = estimate(raced, lambda: 0.12)
    assert found.building_s > 0  # once, not for every case
    assert found.building_s == estimate(raced[:1], lambda: 0.12).building_s
    assert found.starting_s > 4 * 2 * 4  # several launches of torch in each case
    assert found.total_s > 1.5 * estimated(alone)
    assert estimated(raced, 0.24) > 1.3 * estimated(raced)


# ---------------------------------------------------------------- cases that are only listed

TRAP = "raise SystemExit('this plan ran code')\n"


@pytest.mark.parametrize("against", ["trap.py:make", "mine=trap.py:make", "trap_module:make", "trap.keras", "trap.pt2"])
def test_listing_the_cases_of_a_plan_imports_reads_and_runs_nothing(
    against: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("trap.py", "trap_module.py", "trap.keras", "trap.pt2"):
        written(tmp_path / name, TRAP)
    monkeypatch.syspath_prepend(str(tmp_path))
    plan = written(
        tmp_path / "plan.toml",
        f'models = [{{ path = "a.onnx", against = ["{against}"] }}]\ndims = {{ batch = [1, 2] }}',
    )
    before = set(sys.modules)
    assert [cell.key for cell in plan_cells(plan, listed=True)] == ["a.onnx batch=1", "a.onnx batch=2"]
    assert {name for name in set(sys.modules) - before if "trap" in name} == set()


@pytest.mark.parametrize(
    "model",
    [
        "a.onnx",
        "zoo:tiny-linear",
        {"path": "zoo:tiny-linear", "against": ["sklearn"]},
        {"path": "a.onnx", "against": ["f=beside.py:make"]},
    ],
)
def test_cases_are_listed_under_the_names_that_they_run_under(
    model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "beside.py", SOURCE)
    plan = {"models": [model], "dims": {"batch": [1, 2]}}
    assert [cell.key for cell in plan_cells(plan, listed=True)] == keys(plan)


def test_listing_a_zoo_model_does_not_build_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    plan = {"models": [{"path": "zoo:tiny-linear", "against": ["sklearn"]}]}
    assert [cell.key for cell in plan_cells(plan, listed=True)] == ["zoo:tiny-linear sklearn"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(
    ("model", "said"),
    [
        ({"path": "zoo:tiny-linear", "against": ["jax"]}, "choose from: sklearn"),
        ({"path": "a.onnx", "against": ["nowhere.py:make"]}, "no such file"),
        ({"path": "a.onnx", "against": ["nowhere.keras"]}, "no such file"),
        ({"path": "a.onnx", "against": ["torch", "a.py:make"]}, "not both"),
    ],
)
def test_a_source_that_is_not_there_is_refused_even_if_it_is_only_listed(
    model: dict[str, Any], said: str, listed: bool
) -> None:
    with pytest.raises(BadOption, match=said):
        plan_cells({"models": [model]}, listed)


# ---------------------------------------------------------------- models that are only looked at


def looked_at(linear_path: Path, tmp_path: Path, **fields: Any) -> None:
    (tmp_path / "trap.py").write_text(TRAP, encoding="utf-8")
    np.save(tmp_path / "rows.npy", np.zeros((3, 10), np.float32))
    model = {"path": str(linear_path), "against": [f"{tmp_path}/trap.py:make"]}
    check_models({"models": [model], **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"dims": {"batch": [1, 2]}},
        {"feeds": {"X": "rows.npy"}},
        {"models": ["zoo:tiny-linear"], "dims": {"batch": 3}},
        {"models": [{"path": "zoo:tiny-linear", "against": ["sklearn"]}], "dims": {"X.0": 3}},
    ],
)
def test_a_plan_whose_models_have_its_dimensions_is_fine_and_runs_no_code(
    fields: dict[str, Any], linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    looked_at(linear_path, tmp_path, **fields)
    assert not (tmp_path / "caches").exists()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"models": ["nowhere.onnx"]}, "no such file"),
        ({"models": ["trap.py"]}, "trap.py"),
        ({"dims": {"batch": [1, 2], "seq": 4}}, "unknown dimension 'seq'; choose from: batch, X.0"),
        ({"dims": {"X.1": 4}}, "X.1=4: this dimension is fixed at 10"),
        ({"models": ["zoo:tiny-linear"], "dims": {"seq": 4}}, "zoo:tiny-linear: unknown dimension 'seq'"),
        ({"models": ["zoo:tiny-linera"]}, "unknown model of the zoo"),
        ({"feeds": {"X": "nowhere.npy"}}, "does not exist"),
        ({"feeds": {"X": "rows.npy"}, "dims": {"batch": 4}}, "cannot be both 3"),
        ({"feeds": {"Z": "rows.npy"}}, "no input 'Z'"),
    ],
)
def test_a_model_or_a_dimension_that_does_not_exist_is_refused_before_anything_runs(
    fields: dict[str, Any], said: str, linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as refused:
        looked_at(linear_path, tmp_path, **fields)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


# ---------------------------------------------------------------- everything that a bench can

OF_THE_RUN = {"on", "each_node", "resume", "retry", "store", "tags", "max_slowdown"}
"""Options of `onnxperf bench` that are about the run as a whole: where it runs, what is resumed, saved and refused."""


def test_a_plan_holds_everything_that_a_bench_takes() -> None:
    assert set(SweepPlan.__struct_fields__) - {"models", "options"} <= set(CASE.options)
    assert set(CASE.options) == set(BENCH.options) - OF_THE_RUN


def test_models_of_one_entry_race_each_other(linear_path: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.zeros((3, 10), np.float32))
    twin = tmp_path / "twin.onnx"
    twin.write_bytes(linear_path.read_bytes())
    plan = written(
        tmp_path / "plan.toml",
        f"""
        models = [{{ path = ["{linear_path.name}", "twin.onnx"] }}]
        feeds = {{ X = "rows.npy" }}
        options = {{ threads = 1, blocks = 1, calls_per_block = 1, warmup = 0 }}
        """,
    )
    assert keys(plan) == [f"{linear_path.name}, twin.onnx"]
    (case,) = onnxperf.sweep(plan).cases
    assert case.model == f"{linear_path.stem}, twin"
    assert [subject.name for subject in case.subjects] == [linear_path.stem, "twin"]
    assert case.dims == {"batch": 3}


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ({}, "models"),
        ({"models": []}, "names no models"),
        ({"models": "a.onnx"}, "models"),
        ({"models": [3]}, "models"),
        ({"models": [{"dims": {}}]}, "path"),
        ({"models": ["a.onnx"], "dim": {}}, "unknown field 'dim' in the plan; did you mean 'dims'?"),
        (
            {"models": [{"path": "a.onnx", "call": "run"}]},
            "field 'call' of a model in the plan; it belongs in the plan",
        ),
        ({"models": ["a.onnx"], "dims": {"batch": "four"}}, "dims"),
        ({"models": ["a.onnx"], "dims": {"batch": [1.5]}}, "dims"),
        ({"models": ["a.onnx"], "dims": {"batch": []}}, "no value given"),
        ({"models": ["a.onnx"], "time": 3}, "unknown field 'time' in the plan; it belongs in [options]"),
        ({"models": ["a.onnx"], "min-effect": 3}, "unknown field 'min-effect' in the plan; it belongs in [options]"),
        ({"models": ["a.onnx"], "input": {}}, "unknown field 'input' in the plan; did you mean 'feeds'?"),
        ({"models": [{"path": "a.onnx", "seed": 1}]}, "it belongs in [options] of the plan"),
        ({"models": [{"path": []}]}, "a model without a path"),
        ({"models": ["a.onnx"], "options": {"tme": 3}}, "unknown option 'tme' in the plan; did you mean 'time'?"),
        ({"models": ["a.onnx"], "options": {"no_check": True}}, "did you mean 'check'?"),
        ({"models": ["a.onnx"], "options": {"against": []}}, "it belongs in the plan itself, not in [options]"),
        ({"models": ["a.onnx"], "options": {"zzz": 3}}, "choose from: all_combinations, atol"),
        ({"models": ["a.onnx"], "options": {"time": 0}}, "time = 0: expected more than 0"),
        ({"models": ["a.onnx"], "options": {"memory_limit": -1}}, "more than 0 bytes"),
        ({"models": ["a.onnx"], "options": {"ranges": 5}}, "ranges = 5: Expected object"),
        ({"models": ["a.onnx"], "options": {"ranges": {"X": 5}}}, "Expected array"),
        ({"models": ["a.onnx"], "options": {"shapes": {"X": 5}}}, "Expected array"),
        ({"models": ["a.onnx"], "options": {"options": 5}}, "expected values by name"),
        ({"models": ["a.onnx"], "options": {"match": [3]}}, "Expected object"),
        ({"models": ["a.onnx"], "options": {"dims": {"batch": 5}}}, "it belongs in the plan itself"),
        ({"models": ["a.onnx"], "options": {"time": math.inf}}, "more than 0"),
        ({"models": ["a.onnx"], "options": {"threads": 10**9}}, "from 1 to 1024"),
        ({"models": ["a.onnx"], "options": {"warmup": math.inf}}, "at least 0 seconds"),
        ({"models": ["a.onnx"], "options": {"timeout": math.nan}}, "more than 0"),
        ({"models": ["a.onnx"], "options": {"threads": "x" * 10_000}}, "x…x"),
        ({"models": ["a.onnx"], "dims": {"a": list(range(1000)), "b": list(range(1000))}}, "more than 100,000 cases"),
        ({"models": [f"{n}.onnx" for n in range(20)], "dims": {"a": list(range(10_000))}}, "more than 100,000 cases"),
        ({"models": ["a.onnx"], "options": {"memory_limit": "much"}}, "expected an amount of memory"),
        ({"models": ["a.onnx", "a.onnx"]}, "the case 'a.onnx' twice"),
        ({"models": ["a.onnx"], "dims": {"batch": [1, 2, 1]}}, "a size is given twice"),
        ({"models": [{"path": "zoo:tiny-linear", "against": ["jax"]}]}, "choose from: sklearn"),
        ({"models": [{"path": "a.onnx", "against": ["nowhere.py:make"]}]}, "no such file"),
        ({"models": [{"path": "a.onnx", "against": ["torch", "a.py:make"]}]}, "not both"),
    ],
)
def test_a_wrong_plan_is_refused_in_one_line(plan: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption) as refused:
        plan_cells(plan)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        (b"models = [", "is not valid TOML"),
        (b"a = '\xff'", "is not valid TOML"),
        (b"a = " + b"9" * 5000, "is not valid TOML"),
        (b"a = " + b"[" * 10_000, "is nested too deeply"),
        (b"models = ['a.onnx']\n[options" + b".x" * 10_000 + b"]", "is not valid|nested too deeply|unknown option"),
        (b"#" * (5 << 20), "is larger than 4.19 MB"),
    ],
    ids=["missing", "unfinished", "latin", "digits", "arrays", "tables", "large"],
)
def test_a_file_that_is_no_plan_is_refused(tmp_path: Path, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(BadInput, match=said):
        plan_cells(tmp_path / "plan.toml")


def test_ten_thousands_of_cases_are_compared_in_one_pass() -> None:
    plan = {"models": ["a.onnx"], "dims": {"a": list(range(200)), "b": list(range(100))}}
    assert len(set(keys(plan))) == 20_000


def test_statuses_to_retry_are_checked() -> None:
    with pytest.raises(BadOption, match="status to retry 'ok'; choose from: failed, oom"):
        run_sweep([], lambda _done, _text: None, Keeping(retry=["ok"]))


# ---------------------------------------------------------------- sources


def test_sources_are_looked_for_beside_the_plan_and_named(tmp_path: Path) -> None:
    written(tmp_path / "sources_beside.py", SOURCE)
    found = sources_of(["sources_beside.py:make", "mine=sources_beside.py:make"], tmp_path)
    assert isinstance(found, dict)
    assert list(found) == ["make", "mine"]


@pytest.mark.parametrize(("texts", "expected"), [([], None), (["torch"], ["torch"]), (["torch,tf"], ["torch", "tf"])])
def test_names_without_a_colon_are_frameworks(texts: list[str], expected: list[str] | None) -> None:
    assert sources_of(texts) == expected


# ---------------------------------------------------------------- real sweeps


def test_a_plan_runs_from_any_folder_and_is_kept(
    linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "sources_kept.py", SOURCE)
    options = "\n".join(f"{name} = {value}" for name, value in TINY.items())
    plan = written(
        tmp_path / "plan.toml",
        f'models = [{{ path = "{linear_path.name}", against = ["slice=sources_kept.py:make"] }}]\n'
        f"dims = {{ batch = [1, 2] }}\n[options]\n{options}",
    )
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store = tmp_path / "runs.sqlite"
    result = onnxperf.sweep(plan, store=store)
    assert result.ok
    assert [case.dims for case in result.cases] == [{"batch": 1}, {"batch": 2}]
    assert [subject.name for subject in result.cases[0].subjects] == ["ort", "slice"]
    texts: list[str] = []
    again = onnxperf.sweep(plan, store=store, resume="last", progress=lambda _done, text: texts.append(text))
    assert again.record.cases == result.record.cases
    assert texts == []
    assert result.run == again.run != ""
    with open_store(store) as opened:
        assert [run.cases_done for run in opened.runs()] == [2]
    assert list(Path().iterdir()) == []


def test_a_case_that_cannot_be_run_is_failed_and_the_result_is_not_ok(linear_path: Path) -> None:
    result = onnxperf.sweep({"models": ["nowhere.onnx", str(linear_path)], "options": TINY})
    assert [case.status for case in result.cases] == ["failed", "ok"]
    assert "no such file" in result.cases[0].answer
    assert not result.ok


def test_a_size_that_cannot_be_run_belongs_to_the_same_model_as_the_others(linear_path: Path) -> None:
    result = onnxperf.bench(
        str(linear_path), dims={"batch": [1, 10**14]}, threads=1, blocks=1, calls_per_block=1, warmup=0
    )
    assert [case.status for case in result.cases] == ["ok", "failed"]
    assert len({case.model for case in result.cases}) == 1
    assert not result.ok


def test_a_sweep_without_a_store_cannot_be_resumed() -> None:
    with pytest.raises(BadOption, match="needs the store"):
        onnxperf.sweep({"models": ["a.onnx"]}, resume="last")


def test_a_store_that_cannot_be_opened_is_no_reason_not_to_run(
    linear_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = {"models": [str(linear_path)], "options": TINY}
    assert onnxperf.sweep(plan, store=tmp_path / "no" / "runs.sqlite").ok
    assert "results wait in " in capsys.readouterr().err


# ---------------------------------------------------------------- interrupted between two races


def cell(key: str, run: Callable[[], Case]) -> Cell:
    return Cell(key, key, {}, parse({}, CASE), lambda _progress, _launch: run())


def finished(key: str) -> Cell:
    return cell(key, lambda: Case(model=key))


def interrupt() -> Case:
    raise KeyboardInterrupt


def nothing(_done: float, _text: str) -> None:
    pass


def test_a_sweep_interrupted_between_two_races_has_what_was_finished() -> None:
    cells = [finished("a"), cell("b", interrupt), finished("c")]
    bench = run_cells(cells, nothing)
    assert [(case.model, case.status, case.interrupted) for case in bench.cases] == [
        ("a", "ok", False),
        ("b", "pending", True),
        ("c", "pending", False),
    ]
    result = BenchResult(bench)
    assert result.status == "interrupted"
    assert "nterrupted" in repr(result)
    assert "not run: the sweep ended before it began" in repr(result)


def test_a_kept_sweep_interrupted_before_its_first_race_can_be_resumed(tmp_path: Path) -> None:
    with RunWriter(tmp_path / "runs.sqlite") as writer:
        recorder = RunRecorder(writer, "test")
        bench = run_cells([cell("a", interrupt), finished("b")], nothing, recorder)
        assert [case.interrupted for case in bench.cases] == [True, False]
        assert "nterrupted" in repr(BenchResult(bench))
        assert writer.opened().find("last").status == "interrupted"
        again = RunRecorder(writer, "test", resume="last")
        assert [case.model for case in run_cells([finished("a"), finished("b")], nothing, again).cases] == ["a", "b"]


def test_a_single_race_that_was_interrupted_before_its_start_is_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_cells([cell("a", interrupt)], nothing)


class InterruptedOnce(RunWriter):
    """A writer that gets Ctrl-C while it writes the first case that is finished."""

    finished = 0

    def write(self, run: RunRow, cases: Sequence[CaseRow] = (), waits_as: WaitsAs = "result") -> str:
        self.finished += waits_as == "result"
        if self.finished == 1 and waits_as == "result":
            raise KeyboardInterrupt
        return super().write(run, cases, waits_as)


def test_a_case_that_is_being_kept_at_the_signal_is_kept_all_the_same(tmp_path: Path) -> None:
    with InterruptedOnce(tmp_path / "runs.sqlite") as writer:
        bench = run_cells([finished("a"), finished("b")], nothing, RunRecorder(writer, "test"))
        assert [(case.model, case.interrupted) for case in bench.cases] == [("a", False), ("b", True)]
        store = writer.opened()
        assert store.cases_of(store.find("last").id) == {"a": "ok", "b": "pending"}


# ---------------------------------------------------------------- any plan

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
OPTIONS = st.dictionaries(st.sampled_from([*CASE.options, "other"]), VALUES, max_size=3)
MODELS = st.just(["a.onnx"]) | st.lists(st.fixed_dictionaries({"path": st.text(max_size=5)}), max_size=2) | VALUES
DIMS = st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=4), max_size=3)


@given(models=MODELS, dims=DIMS | VALUES, options=OPTIONS)
def test_any_plan_has_cases_or_is_refused_in_one_line(models: Any, dims: Any, options: dict[str, Any]) -> None:
    refusal, cells = "", []
    try:
        cells = plan_cells({"models": models, "dims": dims, "options": options}, listed=True)
    except BadInput as error:
        refusal = str(error)
    assert bool(cells) != bool(refusal)
    assert "\n" not in refusal
    assert len(refusal) < 1000
    assert estimated(cells) >= 0


def test_options_that_are_given_override_those_of_the_plan() -> None:
    plan = {"models": ["a.onnx"], "options": {"time": 1.0, "rtol": 0.5}}
    (cell,) = plan_cells(plan, overrides={"time": 2.0, "threads": 1})
    assert (cell.settings.race.time, cell.settings.tolerances.rtol, cell.settings.session.threads) == (2.0, 0.5, 1)
