"""Tags of a run: those given, and in a Git repository its commit, its branch and whether files differ."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence

from onnxperf.errors import BadOption
from onnxperf.programs import find_program
from onnxperf.records.runs import BRANCH, COMMIT, COMMIT_LENGTH, DIRTY

MOST, LONGEST_NAME, LONGEST_VALUE = 50, 64, 256
"""Tags of a run, and characters of each."""
_TIMEOUT_S = 2.0
_GIT = ("--no-optional-locks", "--no-pager", "-c", "core.fsmonitor=", "-c", f"core.hooksPath={os.devnull}")
"""Git changes nothing, and starts no program that a repository names."""
_NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
"""Nor does it fetch what a repository lacks: its configuration may name a program for that."""
_HEAD = ("rev-parse", "--verify", "--quiet", "HEAD")
_BRANCH = ("symbolic-ref", "--short", "--quiet", "HEAD")
_SETTINGS = ("config", "--list", "--name-only")
_STATUS = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")

Ask = Callable[[Sequence[str]], str | None]


def checked_tags(tags: Mapping[str, object]) -> dict[str, str]:
    """Tags as they are kept; what is too long, too many or has no name is refused."""
    if len(tags) > MOST:
        raise BadOption(f"{len(tags)} tags, and a run can have {MOST}")
    for name, value in tags.items():
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            raise BadOption(f"a tag has a name of 1 to {LONGEST_NAME} characters, not {str(name)[:LONGEST_NAME]!r}")
        if len(str(value)) > LONGEST_VALUE:
            raise BadOption(f"the tag {name!r} has {len(str(value))} characters, and can have {LONGEST_VALUE}")
    return {name: str(value) for name, value in tags.items()}


def run_tags(given: Mapping[str, object] | None = None) -> dict[str, str]:
    """The tags of a run that begins now; what is given replaces what Git says."""
    given, found = checked_tags(given or {}), git_tags()
    commit = found.get(COMMIT, "")
    # Branch and `dirty` are about the commit of this folder, and say nothing about another one.
    return {**(found if given.get(COMMIT, commit).startswith(commit) else {}), **given}


def git_tags(ask: Ask | None = None) -> dict[str, str]:
    """Commit, branch and `dirty` of the current folder; nothing if Git or a repository is missing, or takes long."""
    ask = ask or _output
    commit = (ask(_HEAD) or "").strip()
    if not commit.isalnum():
        return {}
    branch = (ask(_BRANCH) or "").strip()
    found = {COMMIT: commit[:COMMIT_LENGTH], BRANCH: branch[:LONGEST_VALUE], DIRTY: "yes" if _is_dirty(ask) else ""}
    return {name: value for name, value in found.items() if value}


def _is_dirty(ask: Ask) -> bool:
    """Whether files differ, where that can be asked: to compare them, Git would run the filters of its settings."""
    settings = ask(_SETTINGS)
    if settings is None or any(name.startswith("filter.") for name in settings.splitlines()):
        return False
    return bool(ask(_STATUS))


def _output(words: Sequence[str]) -> str | None:
    """What Git prints; None if it is missing, fails or takes too long."""
    git = find_program("git")
    if git is None:
        return None
    try:
        done = subprocess.run(
            [git, *_GIT, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_NO_FETCH},
            timeout=_TIMEOUT_S,
            check=True,
            encoding="utf-8",
            errors="replace",
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
