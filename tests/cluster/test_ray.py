"""A real Ray: three nodes on this machine, one of which dies in the middle of a sweep; and a Ray of our own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.signalled import disturb
from tests.cluster import CASES, TAG

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="a cluster on one machine")]
ROOT = Path(__file__).parents[2]
SCRIPT = "tests.cluster.three_nodes"


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Python in a process group of its own, so that this one never meets Ray."""
    tagged = {**os.environ, TAG: uuid4().hex, "ONNXPERF_STORE": str(folder / "runs.sqlite")}
    tagged |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        [sys.executable, *arguments], env=tagged, cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("ray")
    ended = run(["-m", SCRIPT, str(folder)], folder)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)  # nothing of Ray is on standard output
    return found


@pytest.mark.thorough
def test_a_node_dies_in_the_middle_and_another_one_joins(seen: dict[str, Any]) -> None:
    nodes = [node for node, _, _ in seen["first"]]
    assert seen["killed"] in ("second", "third")
    assert {"head", "second", "third"} <= set(nodes)
    assert seen["added"] == "fourth"


@pytest.mark.thorough
def test_the_case_of_the_dead_node_becomes_a_status_with_a_reason(seen: dict[str, Any]) -> None:
    lost = [(node, status, reason) for node, status, reason in seen["first"] if status != "ok"]
    assert [(node, status) for node, status, _ in lost] == [(seen["killed"], "crashed")]
    assert f"the node {seen['killed']} died" in lost[0][2]
    assert seen["status"] == ["crashed", "ok"]


@pytest.mark.thorough
def test_resuming_brings_every_case_exactly_once(seen: dict[str, Any]) -> None:
    assert seen["run"][0] == seen["run"][1]
    assert [status for _, status in seen["second"]] == ["ok"] * CASES
    finished = Counter(key for key, _, status, *_ in seen["attempts"] if status == "ok")
    assert len(finished) == CASES
    assert set(finished.values()) == {1}


@pytest.mark.thorough
def test_no_case_ran_twice_at_once(seen: dict[str, Any]) -> None:
    attempts = defaultdict(list)
    for key, _, _, _, started, finished in seen["attempts"]:
        attempts[key].append((started, finished))
    assert all(first[1] <= second[0] for each in attempts.values() for first, second in pairwise(sorted(each)))
    assert Counter(map(len, attempts.values())) == {1: CASES - 1, 2: 1}


@pytest.mark.thorough
def test_nothing_frozen_or_orphaned_is_left(seen: dict[str, Any]) -> None:
    assert seen["left"] == []


def test_a_cluster_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    ended = run(["-m", "onnxperf", "bench", "zoo:tiny-linear", "--on", "127.0.0.1:9"], tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "onnxperf: --on 127.0.0.1:9: no cluster answers there: Connection refused; check with ray status"
    ]


def test_a_bench_on_a_ray_of_our_own_prints_what_one_here_prints_and_leaves_nothing(tmp_path: Path) -> None:
    ended = run(["-m", "onnxperf", "bench", "zoo:tiny-linear", "--on", "ray", "--time", "0.2", "--json", "-"], tmp_path)
    assert ended.returncode == 0, ended.stderr
    record = json.loads(ended.stdout)
    assert [case["status"] for case in record["cases"]] == ["ok"]
    assert record["cases"][0]["node"]
    assert "ray" not in ended.stderr.lower()


@pytest.mark.skipif(sys.platform != "linux", reason="the guardian adopts what Ray orphans")
@pytest.mark.parametrize(
    ("name", "delay_s"),
    [
        ("SIGKILL", 9),
        *(pytest.param("SIGTERM", delay_s, marks=pytest.mark.thorough) for delay_s in (2, 9, 13)),
        pytest.param("SIGINT", 6, marks=pytest.mark.thorough),
    ],
)
def test_a_signal_at_any_moment_ends_a_ray_of_our_own_with_its_command(name: str, delay_s: float) -> None:
    number = signal.Signals[name]
    ended = disturb(["bench", "zoo:tiny-linear", "--on", "ray", "--time", "1"], number, delay_s)
    assert ended.problem(number) == ""
