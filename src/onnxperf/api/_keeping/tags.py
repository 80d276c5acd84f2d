"""Tags of a run: those that were given, and in a Git repository its commit, its branch and whether files differ."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence

from onnxperf.errors import BadOption
from onnxperf.records.runs import BRANCH, COMMIT, COMMIT_LENGTH, DIRTY

MOST, LONGEST_NAME, LONGEST_VALUE = 50, 64, 256
"""Tags of a run, and characters of each."""
_TIMEOUT_S = 2.0
_GIT = ("git", "--no-optional-locks", "-c", "core.fsmonitor=false")
"""Git changes nothing, and starts no program that a repository names."""
_STATUS = (*_GIT, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all")
_HEAD = (*_GIT, "rev-parse", "HEAD")

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
    """Commit, branch and `dirty` of the current folder; nothing where Git or a repository is missing, or takes long."""
    ask = ask or _output
    text = ask(_STATUS)
    if text is None:  # all files of a large repository may take long to look at
        return _commit((ask(_HEAD) or "").strip())
    heads = dict(line[2:].split(" ", 1) for line in text.splitlines() if line.startswith("# ") and " " in line[2:])
    changed = any(line and not line.startswith("#") for line in text.splitlines())
    branch = heads.get("branch.head", "(detached)")[:LONGEST_VALUE]
    tags = _commit(heads.get("branch.oid", ""))
    if tags and branch != "(detached)":
        tags[BRANCH] = branch
    if tags and changed:
        tags[DIRTY] = "yes"
    return tags


def _commit(text: str) -> dict[str, str]:
    """Where there is no commit yet, Git says (initial)."""
    return {COMMIT: text[:COMMIT_LENGTH]} if text.isalnum() else {}


def _output(command: Sequence[str]) -> str | None:
    """What Git prints; empty where there is nothing to say, None where it takes too long."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=True,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return None
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout
