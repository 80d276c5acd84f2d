"""Races as pytest-benchmark writes its own."""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from onnxperf.records.gate import CONTROL
from onnxperf.render.race.pytest_benchmark import pytest_benchmark_json
from tests.render import examples

STATS = {
    *("min", "max", "mean", "stddev", "rounds", "median", "iqr", "q1", "q3", "iqr_outliers", "stddev_outliers"),
    *("outliers", "ld15iqr", "hd15iqr", "ops", "total", "iterations"),
}


def test_every_measured_subject_is_a_benchmark_with_all_fields() -> None:
    case = examples.case(examples.subject("run", 8000.0), examples.failed())
    document = json.loads(pytest_benchmark_json([case], examples.machine()))
    assert set(document) == {"machine_info", "commit_info", "benchmarks", "datetime", "version"}
    assert {"id", "time", "dirty", "branch"} <= set(document["commit_info"])
    assert document["machine_info"]["python_version"] == "3.11.9"
    assert datetime.fromisoformat(document["datetime"]).tzinfo is not None
    (benchmark,) = document["benchmarks"]
    assert {"group", "name", "fullname", "params", "param", "extra_info", "options", "stats"} == set(benchmark)
    assert benchmark["fullname"] == "linear.onnx run[batch=1000]"
    assert benchmark["params"] == {"batch": 1000}
    assert set(benchmark["stats"]) == STATS


def test_times_are_seconds_of_a_call() -> None:
    subject = examples.subject("run", 8000.0)
    document = json.loads(pytest_benchmark_json([examples.case(subject)], None))
    stats = document["benchmarks"][0]["stats"]
    assert stats["mean"] == pytest.approx(8e-6)
    assert stats["ops"] == pytest.approx(1 / 8e-6)
    assert (stats["rounds"], stats["iterations"]) == (4, 100)
    assert stats["ld15iqr"] <= stats["q1"] <= stats["median"] <= stats["q3"] <= stats["hd15iqr"]


def test_one_block_is_enough_and_a_control_may_be_left_out() -> None:
    new = examples.subject("new", blocks=examples.blocks(8000.0, count=1))
    case = examples.case(new, examples.subject(CONTROL))
    (found,) = json.loads(pytest_benchmark_json([case], None, without=[CONTROL]))["benchmarks"]
    assert (found["name"], found["stats"]["stddev"]) == ("linear.onnx new[batch=1000]", 0.0)
