"""Tags of runs, those that Git knows among them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
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


COMMIT = "1a2b3c4d5e6f7a8b\n"


@pytest.mark.parametrize(
    ("answers", "tags"),
    [
        ({}, {}),
        ({"rev-parse": "(initial)"}, {}),
        ({"rev-parse": "\n"}, {}),
        ({"rev-parse": COMMIT}, {"commit": "1a2b3c4d5e6f"}),
        ({"rev-parse": COMMIT, "symbolic-ref": "main\n"}, {"commit": "1a2b3c4d5e6f", "branch": "main"}),
        ({"rev-parse": COMMIT, "config": "", "status": " M file\n"}, {"commit": "1a2b3c4d5e6f", "dirty": "yes"}),
        ({"rev-parse": COMMIT, "status": " M file\n"}, {"commit": "1a2b3c4d5e6f"}),
    ],
)
def test_what_git_does_not_say_in_time_is_left_out(answers: dict[str, str], tags: dict[str, str]) -> None:
    assert git_tags(lambda words: answers.get(words[0])) == tags


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[str]:
    """A program that leaves a mark when it is run, which nothing may do."""
    mark, path = tmp_path / "mark", tmp_path / "trap"
    path.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    path.chmod(0o755)
    yield str(path)
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["clean", "process"])
@pytest.mark.parametrize("place", ["local", "include", "worktree", "global"])
def test_no_filter_of_a_repository_is_run(
    kind: str, place: str, git: Git, trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = f"filter.x.{kind}"
    if place == "include":
        git("config", "-f", str(tmp_path / "more"), named, trap)
        git("config", f"includeIf.gitdir:{tmp_path}/.path", str(tmp_path / "more"))
    elif place == "worktree":
        git("config", "extensions.worktreeConfig", "true")
        git("config", "--worktree", named, trap)
    elif place == "global":
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "user"))
        git("config", "--global", named, trap)
    else:
        git("config", named, trap)
    (tmp_path / ".gitattributes").write_text("* filter=x\n")
    (tmp_path / "file").write_text("2")
    assert git_tags() == {"commit": git("rev-parse", "HEAD")[:12], "branch": "main"}


HOOKS = ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout", "pre-commit", "query")
SETTINGS = (
    "core.fsmonitor",
    "core.pager",
    "pager.status",
    "core.editor",
    "core.sshCommand",
    "core.gitProxy",
    "core.askPass",
    "core.alternateRefsCommand",
    "diff.external",
    "diff.x.command",
    "diff.x.textconv",
    "merge.x.driver",
    "gpg.program",
    "credential.helper",
    "sequence.editor",
    "uploadpack.packObjectsHook",
)


def test_no_other_program_that_a_repository_names_is_started(git: Git, trap: str, tmp_path: Path) -> None:
    for name in SETTINGS:
        git("config", name, trap)
    for alias in ("status", "rev-parse", "symbolic-ref", "config"):
        git("config", f"alias.{alias}", f"!{trap}")
    git("config", "core.hooksPath", "hooks")
    git("config", "core.untrackedCache", "true")
    (tmp_path / "hooks").mkdir()
    for hook in HOOKS:
        for folder in (tmp_path / "hooks", tmp_path / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / hook).symlink_to(trap)
    (tmp_path / ".gitattributes").write_text("* diff=x merge=x\n")
    (tmp_path / "file").write_text("2")
    assert git_tags()["dirty"] == "yes"


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "ext::{trap}", "uploadpack": "git-upload-pack"},
        {"url": "{folder}", "uploadpack": "{trap}"},
        {"url": "ssh://host/x", "uploadpack": "git-upload-pack"},
        {"url": "x", "vcs": "ext"},
    ],
)
def test_what_a_repository_lacks_is_not_fetched(settings: dict[str, str], git: Git, trap: str, tmp_path: Path) -> None:
    commit, tree = git("rev-parse", "HEAD"), git("rev-parse", "HEAD^{tree}")
    git("config", "core.repositoryFormatVersion", "1")
    git("config", "extensions.partialClone", "away")
    git("config", "remote.away.promisor", "true")
    git("config", "core.sshCommand", trap)
    git("config", "protocol.allow", "always")
    git("config", "protocol.ext.allow", "always")
    for name, value in settings.items():
        git("config", f"remote.away.{name}", value.format(trap=trap, folder=tmp_path))
    (tmp_path / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    assert git_tags() == {"commit": commit[:12], "branch": "main"}


def test_no_program_of_a_submodule_is_started(git: Git, trap: str, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git("-C", "inner", "init")
    (inner / "file").write_text("1")
    git("-C", "inner", "add", "file")
    git("-C", "inner", "commit", "-m", "first")
    git("add", "inner")
    git("commit", "-m", "second")
    for name in ("filter.x.clean", "core.fsmonitor"):
        git("-C", "inner", "config", name, trap)
    (inner / ".gitattributes").write_text("* filter=x\n")
    (inner / "file").write_text("2")
    git("config", "status.submoduleSummary", "true")
    git("config", "diff.ignoreSubmodules", "none")
    assert "dirty" not in git_tags()


def test_the_git_of_the_current_folder_is_not_run(
    git: Git, trap: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").symlink_to(trap)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(tmp_path), os.environ["PATH"]]))
    assert git_tags()["branch"] == "main"


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
