"""`onnxperf history` and `--tag` as a user meets them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import onnxperf
from onnxperf.cli.main import run
from onnxperf.store import open_store
from tests.histories import MODEL, keep_runs, noisy, timed

TINY = ("--blocks", "2", "--calls-per-block", "1", "--threads", "1", "--quiet")


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: Callable[[str, str], list[str]]) -> Path:
    """An empty store, and a folder outside of any repository."""
    built("tiny-linear", "sklearn")
    path = tmp_path / "runs.sqlite"
    monkeypatch.setenv("ONNXPERF_STORE", str(path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def months(store: Path) -> list[str]:
    return keep_runs(store, [[timed(ns)] for ns in noisy({20: 100e3, 21: 110e3})])


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(
        f'models = ["{MODEL}"]\n[dims]\nbatch = [1, 2]\n[options]\nblocks = 2\ncalls_per_block = 1\nthreads = 1\n',
        encoding="utf-8",
    )
    return path


def tags_of(store: Path, name: str = "last") -> dict[str, str]:
    with open_store(store) as opened:
        return opened.find(name).tags


def test_the_page_says_since_when(months: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["history", MODEL]) == 0
    out = capsys.readouterr().out
    assert f"since run {months[20]} (2026-01-21)" in out
    assert run(["history", MODEL, "--quiet", "--group-by", "day"]) == 0
    assert "since 2026-01-21 (run" in capsys.readouterr().out


def test_files_are_written(months: list[str], tmp_path: Path) -> None:
    names = [f"h.{suffix}" for suffix in ("json", "csv", "md", "html", "png", "svg")]
    assert run(["history", MODEL, "--quiet", *(word for name in names for word in ("-o", name))]) == 0
    assert all((tmp_path / name).stat().st_size for name in names)
    record = json.loads((tmp_path / "h.json").read_text(encoding="utf-8"))
    assert len(record["series"][0]["points"]) == 41


def test_a_history_is_not_kept_as_a_run(months: list[str]) -> None:
    assert run(["history", MODEL, "--quiet"]) == 0
    assert len(onnxperf.runs()) == 41


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([MODEL, "--limit", "1"], "unknown option --limit"),
        ([MODEL, "--by", "day"], "unknown option --by"),
        ([MODEL, "--top", "0"], "--top 0: expected at least 1"),
        ([MODEL, "--since", "soon"], "--since soon: expected a date such as 2026-11-03, or days such as 30d"),
        (["other"], "no race of other in the store"),
    ],
)
def test_bad_options_end_with_2(
    months: list[str], words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["history", *words]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_a_bench_keeps_its_tags_and_the_list_finds_it(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", MODEL, *TINY, "--tag", "commit=1a2b3c4d", "--tag", "note=a=b"]) == 0
    assert run(["bench", MODEL, *TINY]) == 0
    assert tags_of(store) == {}
    (name,) = (each.id for each in onnxperf.runs(tags={"commit": "1a2b"}))
    assert tags_of(store, name) == {"commit": "1a2b3c4d", "note": "a=b"}
    capsys.readouterr()
    assert run(["runs", "--quiet", "--tag", "commit=1a2b", "--tag", "note=a=b"]) == 0
    assert capsys.readouterr().out == f"{name}\n"
    assert run(["runs", "--quiet", "--tag", "note=b"]) == 0
    assert name not in capsys.readouterr().out


def test_a_bench_in_a_repository_keeps_its_commit(store: Path) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main")
    for words in (("init",), ("commit", "--allow-empty", "-m", "first")):
        subprocess.run(["git", *named, *words], check=True, capture_output=True)
    assert run(["bench", MODEL, *TINY]) == 0
    assert sorted(tags_of(store)) == ["branch", "commit"]
    assert run(["bench", MODEL, *TINY, "--tag", "commit=ffff"]) == 0
    assert tags_of(store) == {"commit": "ffff"}


@pytest.mark.parametrize("tag", ["commit", "=value", f"name={'v' * 257}"])
@pytest.mark.parametrize("command", ["bench", "sweep"])
def test_a_bad_tag_is_refused_before_anything_is_measured(
    command: str, tag: str, store: Path, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, MODEL if command == "bench" else str(plan), "--tag", tag]) == 2
    assert "tag" in capsys.readouterr().err
    assert not store.exists()


def test_a_resumed_sweep_keeps_its_tags_and_takes_new_ones(store: Path, plan: Path) -> None:
    sweep = ["sweep", str(plan), "--quiet"]
    assert run([*sweep, "--tag", "commit=1a2b", "--tag", "note=first"]) == 0
    assert run([*sweep, "--resume", "last", "--tag", "note=second"]) == 0
    assert tags_of(store) == {"commit": "1a2b", "note": "second"}
    assert run([*sweep, "--resume", "last"]) == 0
    assert tags_of(store) == {"commit": "1a2b", "note": "second"}
    assert len(onnxperf.runs()) == 1
    assert len(onnxperf.history(MODEL).record.series) == 2


def test_a_sweep_from_python_keeps_its_tags(store: Path, plan: Path) -> None:
    onnxperf.sweep(plan, store=True, tags={"note": "python"})
    assert tags_of(store) == {"note": "python"}
