"""Tags of runs, those that Git knows among them."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from onnxperf.api._keeping.tags import LONGEST_NAME, LONGEST_VALUE, MOST, checked_tags, git_tags, run_tags
from onnxperf.errors import BadOption

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """A repository with one commit, which is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def ask(*words: str) -> str:
        named = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *named, *words], check=True, capture_output=True, text=True).stdout.strip()

    ask("init", "-b", "main")
    (tmp_path / "file").write_text("1")
    ask("add", "file")
    ask("commit", "-m", "first")
    return ask


def test_a_repository_gives_commit_and_branch(git: Git) -> None:
    assert git_tags() == {"commit": git("rev-parse", "HEAD")[:12], "branch": "main"}


def test_changed_files_are_told_and_new_ones_are_not(git: Git, tmp_path: Path) -> None:
    (tmp_path / "new").write_text("2")
    assert "dirty" not in git_tags()
    (tmp_path / "file").write_text("2")
    assert git_tags()["dirty"] == "yes"


def test_a_detached_head_has_no_branch(git: Git) -> None:
    git("checkout", "--detach")
    assert sorted(git_tags()) == ["commit"]


def test_a_folder_below_counts_as_its_repository(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    assert git_tags()["branch"] == "main"


def test_a_repository_without_a_commit_gives_nothing(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    git("init")
    assert git_tags() == {}


def test_no_repository_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_tags() == {}


def test_a_machine_without_git_gives_nothing(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert git_tags() == {}


def test_a_repository_that_takes_too_long_gives_its_commit() -> None:
    def ask(command: Sequence[str]) -> str | None:
        return None if "status" in command else "1a2b3c4d5e6f7a8b\n"

    assert git_tags(ask) == {"commit": "1a2b3c4d5e6f"}


@pytest.mark.parametrize("text", ["", "\n", "# branch.oid (initial)\n# branch.head main\n", "nonsense", "# \n1 .M x"])
def test_whatever_git_prints_is_no_error(text: str) -> None:
    assert git_tags(lambda _command: text) == {}


def test_no_program_that_a_repository_names_is_started(git: Git, tmp_path: Path) -> None:
    git("config", "core.fsmonitor", f"touch {tmp_path}/started")
    git_tags()
    assert not (tmp_path / "started").exists()


def test_what_is_given_replaces_what_git_says(git: Git, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("2")
    commit = git("rev-parse", "HEAD")
    assert run_tags({"note": "a"}) == {"commit": commit[:12], "branch": "main", "dirty": "yes", "note": "a"}
    assert run_tags({"branch": "other"})["branch"] == "other"
    assert run_tags({"commit": commit}) == {"commit": commit, "branch": "main", "dirty": "yes"}
    assert run_tags({"commit": "f" * 12}) == {"commit": "f" * 12}


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({str(n): "" for n in range(MOST + 1)}, "51 tags, and a run can have 50"),
        ({"": "a"}, "a tag has a name of 1 to 64 characters"),
        ({"  ": "a"}, "a tag has a name of 1 to 64 characters"),
        ({"n" * (LONGEST_NAME + 1): "a"}, "a tag has a name of 1 to 64 characters"),
        ({"name": "v" * (LONGEST_VALUE + 1)}, "the tag 'name' has 257 characters, and can have 256"),
    ],
)
def test_tags_beyond_their_limits_are_refused(tags: dict[str, object], words: str) -> None:
    with pytest.raises(BadOption, match=words):
        checked_tags(tags)


def test_values_become_texts() -> None:
    assert checked_tags({"build": 17, "n" * LONGEST_NAME: "v" * LONGEST_VALUE})["build"] == "17"
