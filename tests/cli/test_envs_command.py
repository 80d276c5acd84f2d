"""`onnxperf envs`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import onnxperf
from onnxperf.cli.main import run
from onnxperf.environments.find import environment
from tests.environments.test_find import FakeBuilder


@pytest.fixture
def two(own_cache: Path) -> None:
    for name in ("onnxruntime==1.20.1", "onnxruntime==1.31.1+numpy==2.4.6"):
        environment(name, build=FakeBuilder())


def test_without_environments_the_list_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envs"]) == 0
    assert capsys.readouterr().out == "No environment was built yet.\n"


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_list_has_a_line_per_environment(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(["envs"]) == 0
    printed = capsys.readouterr().out
    assert all(len(line) <= columns for line in printed.splitlines()[:4])
    assert "onnxruntime==1.20.1" in printed
    assert "2 environments take" in printed
    assert ("onnxruntime 1.20.1, numpy 2.4.6, msgspec 0.22.0" in printed) is (columns == 120)


@pytest.mark.usefixtures("two")
def test_the_list_is_written_in_every_format(tmp_path: Path) -> None:
    result = onnxperf.envs()
    for suffix in (".json", ".csv", ".md", ".xlsx", ".parquet"):
        result.save(tmp_path / f"envs{suffix}")
    table = result.to_df()
    assert list(table.name) == ["onnxruntime==1.20.1", "onnxruntime==1.31.1+numpy==2.4.6"]
    assert table.packages[0] == "onnxruntime==1.20.1 numpy==2.4.6 msgspec==0.22.0"
    assert str(table.used.dt.tz) == "UTC"
    assert len(json.loads((tmp_path / "envs.json").read_text())["environments"]) == 2


@pytest.mark.usefixtures("two")
def test_environments_are_removed_by_name_and_all_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["envs", "remove", "onnxruntime == 1.20.1"]) == 0
    assert capsys.readouterr().out == "removed onnxruntime==1.20.1 (Python 3.11.7)\n"
    assert run(["envs", "remove", "all", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert run(["envs", "remove", "all"]) == 0
    assert capsys.readouterr().out == "there are no environments yet\n"


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "name the environments to remove, or all for all of them"),
        (["onnxruntime==1.20.1", "all"], "name the environments to remove, or all for all of them"),
        (["--all"], "unknown option --all"),
        (["onnxruntime==1.19"], "unknown environment 'onnxruntime==1.19'; choose from: onnxruntime==1.20.1, "),
        (["../.."], "unknown environment '../..'; choose from: "),
        (["$(id)"], "--env $(id): expected packages"),
    ],
)
def test_a_wrong_name_is_one_line_and_removes_nothing(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["envs", "remove", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert len(onnxperf.envs().record.environments) == 2
