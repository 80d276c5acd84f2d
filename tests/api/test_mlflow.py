"""Results as runs of MLflow: the real library, on a store in a folder."""

from __future__ import annotations

import importlib
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import onnxperf
from onnxperf.api._keeping import mlflow_log
from onnxperf.api._keeping.logged import LONGEST_KEY, LONGEST_PARAM, RunLog, key_of, log_of
from onnxperf.api._keeping.mlflow_log import require_mlflow
from onnxperf.cli.present import Output, present
from onnxperf.errors import MissingExtra, NotLogged
from onnxperf.records.race import Subject
from onnxperf.results.bench import SHOW, BenchResult
from tests.render import examples
from tests.render.examples import bench, case, subject
from tests.results.toys import Toy, ToyResult


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of a store of its own, which every result goes to."""
    for name in [name for name in os.environ if name.startswith("MLFLOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    return require_mlflow().MlflowClient()


def runs_of(client: Any, experiment: str = "onnxperf") -> list[Any]:
    return list(client.search_runs([client.get_experiment_by_name(experiment).experiment_id]))


# ---------------------------------------------------------------- what is logged


def test_a_race_is_logged_with_its_setting_its_numbers_and_its_verdict(client: Any) -> None:
    result = BenchResult(bench(case(subject(), subject("run-c", 6000.0, "faster"), fingerprint={"linear": "abc"})))
    result.run = "fisade"
    run = client.get_run(onnxperf.log_to_mlflow(result))
    params, metrics, tags = run.data.params, run.data.metrics, run.data.tags
    assert run.info.run_name == "bench linear.onnx"
    assert run.info.status == "FINISHED"
    assert params["model"] == "linear.onnx"
    assert params["fingerprint"] == "abc"
    assert params["runtime"] == "ort"
    assert params["dims/batch"] == "1000"
    assert params["threads"] == "2"
    assert (params["run/call"], params["run-c/call"]) == ("run", "run-c"), "what differs stands below the subject"
    assert params["machine/cpu"].startswith("Intel")
    assert params["versions/onnxruntime"] == "1.31.1"
    assert params["command"] == "onnxperf bench linear.onnx --call all"
    assert metrics["run/median_ms"] == pytest.approx(8430 * 0.99 / 1e6)
    assert metrics["run-c/p90_ms"] == pytest.approx(6000 * 1.05 / 1e6)
    assert metrics["run-c/speedup_low"] < metrics["run-c/speedup"] < metrics["run-c/speedup_high"]
    assert "run/speedup" not in metrics, "a baseline has none"
    assert "run-c/p99_ms" not in metrics, "nothing stands for what is not known"
    assert (tags["verdict"], tags["run-c/verdict"], tags["onnxperf.run"]) == ("faster", "faster", "fisade")
    assert tags["mlflow.note.content"].startswith("ort-values is fastest")


def test_the_page_and_the_record_are_files_of_the_run(client: Any, tmp_path: Path) -> None:
    result = BenchResult(bench())
    run = onnxperf.log_to_mlflow(result)
    assert {each.path for each in client.list_artifacts(run)} == {"report.html", "record.json"}
    text = Path(client.download_artifacts(run, "record.json", str(tmp_path))).read_text(encoding="utf-8")
    assert text == result.to_json()


def test_each_case_of_a_sweep_is_a_run_below(client: Any) -> None:
    failed = case(examples.failed("run"), dims={"batch": 8}, status="failed")
    result = BenchResult(bench(case(subject(), dims={"batch": 1}), failed))
    parent = onnxperf.log_to_mlflow(result)
    below = [each for each in runs_of(client) if each.data.tags.get("mlflow.parentRunId") == parent]
    assert {each.info.run_name: each.info.status for each in below} == {
        "linear.onnx batch=1": "FINISHED",
        "linear.onnx batch=8": "FAILED",
    }
    whole = client.get_run(parent)
    assert whole.data.metrics["cases"] == 2
    assert whole.info.status == "FAILED"


def test_a_run_is_below_the_active_run_and_in_its_experiment(client: Any) -> None:
    mlflow = require_mlflow()
    with mlflow_log._quietly():  # it starts git
        place = mlflow.create_experiment("training")
        with mlflow.start_run(experiment_id=place) as active:
            run = client.get_run(onnxperf.log_to_mlflow(BenchResult(bench())))
    assert run.data.tags["mlflow.parentRunId"] == active.info.run_id
    assert run.info.experiment_id == place


@pytest.mark.parametrize(
    ("keyword", "variable", "name"),
    [(None, None, "onnxperf"), (None, "lab", "lab"), ("mine", "lab", "mine")],
)
def test_the_experiment_is_named_by_the_keyword_or_the_variable(
    keyword: str | None, variable: str | None, name: str, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", variable)
    onnxperf.log_to_mlflow(BenchResult(bench()), experiment=keyword)
    onnxperf.log_to_mlflow(BenchResult(bench()), experiment=keyword)
    assert len(runs_of(client, name)) == 2


def test_more_values_than_one_request_takes_are_logged_in_several(client: Any) -> None:
    subjects = [subject(f"call {number}", verdict="slower") for number in range(120)]
    run = client.get_run(onnxperf.log_to_mlflow(BenchResult(bench(case(*subjects, baseline="call 0")))))
    assert len(run.data.metrics) > 1000
    assert len(run.data.params) > 100
    assert sum(name.endswith("/verdict") for name in run.data.tags) == 120


def test_names_that_no_store_takes_lose_nothing(client: Any) -> None:
    names = ["../../etc", "a/b\nc", "é 😀 \udcff", "..", "", "verdict", "model", "x" * 400, "x" * 400 + "y", "a_b_c"]
    subjects = [subject(name, call="run") for name in names]
    run = client.get_run(onnxperf.log_to_mlflow(BenchResult(bench(case(*subjects, model="\udcff" * 9000)))))
    assert sum("/median_ms" in name for name in run.data.metrics) == len(names)
    assert len(run.data.params["model"]) <= LONGEST_PARAM


@given(
    st.lists(st.text(max_size=300) | st.sampled_from([".", "..", "..a", "/", "a/b", " ", "\\"]), min_size=1, max_size=4)
)
def test_every_key_is_one_that_mlflow_takes(names: list[str]) -> None:
    require_mlflow()
    validation: Any = importlib.import_module("mlflow.utils.validation")
    key = key_of(*names)
    assert 0 < len(key) <= LONGEST_KEY
    validation._validate_metric(key, 1.0, 0, 0)
    validation._validate_param(key, "value")
    validation._validate_tag(key, "value")


@given(st.lists(st.text("ab/. \n", max_size=6), max_size=12))
def test_no_value_is_lost_to_another_and_no_key_is_a_folder_of_another(names: list[str]) -> None:
    log = RunLog("names")
    for name in names:
        log.metric(1.0, *name.split("/"))
    assert len(log.metrics) == len(names)
    assert not any(key.startswith(f"{other}/") for key in log.metrics for other in log.metrics)


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "1", True, 10**400])
def test_only_finite_numbers_are_metrics(value: object) -> None:
    log = RunLog("numbers")
    log.metric(value, "value")
    assert log.metrics == {}


def test_times_become_milliseconds_and_passwords_are_masked() -> None:
    log = RunLog("values")
    log.metric(2_000_000, "median_ns")
    log.metric(500, "self_us")
    log.metric(7, "needed_bytes")
    log.param("postgresql://me:secret@host/runs", "command")
    assert log.metrics == {"median_ms": 2.0, "self_ms": 0.5, "needed_bytes": 7.0}
    assert "secret" not in log.params["command"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "metric"),
    [
        (onnxperf.memory, "needed_bytes"),
        (onnxperf.profile, "iterations"),
        (onnxperf.check, "max_absolute"),
        (lambda model: onnxperf.gate(model, model, time=1.0), "new/median_ms"),
        (lambda model: onnxperf.diff(model, opt_level=["disable", "all"], time=1.0), "race/opt_level_all/median_ms"),
    ],
    ids=["memory", "profile", "check", "gate", "diff"],
)
def test_every_kind_of_result_can_be_logged(command: Any, metric: str, linear_path: Path, client: Any) -> None:
    run = client.get_run(onnxperf.log_to_mlflow(command(linear_path)))
    assert metric in run.data.metrics
    assert run.data.params["model"].startswith("linear")


def test_a_kind_that_nobody_thought_of_is_logged_by_its_fields() -> None:
    log = log_of(ToyResult(Toy()))
    assert log.tags["onnxperf.kind"] == "toy"
    assert log.params["decided"] == "True"


# ---------------------------------------------------------------- what goes wrong


class Refusing:
    """A client whose server is full."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)

    def log_text(self, *_arguments: object) -> None:
        raise OSError("no space left\non device")


def test_a_run_that_is_not_whole_is_marked_as_failed(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(require_mlflow(), "MlflowClient", lambda: Refusing(client))
    with pytest.raises(NotLogged, match=r"^MLflow did not take the run: no space left on device$"):
        onnxperf.log_to_mlflow(BenchResult(bench()))
    assert [each.info.status for each in runs_of(client)] == ["FAILED"]


def shown(capsys: pytest.CaptureFixture[str], quiet: bool = False) -> tuple[int, str, str]:
    result = BenchResult(bench(case(Subject(name="run", status="ok", verdict="baseline", median_ns=1e6))))
    code = present(SHOW, Output(mlflow=True, quiet=quiet), lambda _progress: result)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_command_logs_its_run_and_says_so_on_stderr(client: Any, capsys: pytest.CaptureFixture[str]) -> None:
    code, printed, said = shown(capsys)
    (run,) = runs_of(client)
    assert code == 0
    assert said == f"onnxperf: logged to MLflow as run {run.info.run_id}\n"
    assert "MLflow" not in printed
    assert shown(capsys, quiet=True)[2] == ""


def test_a_store_that_refuses_costs_one_line_and_neither_result_nor_exit_code(
    client: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "other").as_uri())
    monkeypatch.delenv("MLFLOW_ALLOW_FILE_STORE")
    code, printed, said = shown(capsys)
    assert code == 0
    assert "linear.onnx" in printed
    assert said.startswith("onnxperf: this run was not logged: MLflow did not take the run: ")
    assert said.count("\n") == 1


def test_a_missing_library_is_refused_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)

    def never(_progress: object) -> Any:
        pytest.fail("refused too late")

    with pytest.raises(MissingExtra, match=r"mlflow-skinny is not installed; install it with: .*mlflow"):
        present(SHOW, Output(mlflow=True), never)


def test_a_store_that_the_small_package_lacks_is_explained(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "alembic", None)
    monkeypatch.delitem(sys.modules, "mlflow.store.db.utils", raising=False)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/runs.db")
    with pytest.raises(NotLogged, match=r"MLflow needs alembic.* for its own database: install mlflow, or"):
        onnxperf.log_to_mlflow(BenchResult(bench()))


QUIET = """
import os, sys, threading
from onnxperf.api._keeping.mlflow_log import require_mlflow
before = dict(os.environ)
require_mlflow()
names = [thread.name for thread in threading.enumerate()]
print("git" in sys.modules, names, os.environ == before)
"""


def test_the_library_reports_nothing_starts_no_git_and_leaves_the_environment_as_it_was() -> None:
    unseen = ("PYTEST_CURRENT_TEST", "CI", "GITHUB_ACTIONS", "MLFLOW_DISABLE_TELEMETRY", "DO_NOT_TRACK")
    variables = {name: value for name, value in os.environ.items() if name not in unseen}
    command = [sys.executable, "-c", QUIET]
    ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert ended.stdout == "False ['MainThread'] True\n"
    assert ended.stderr == ""
