"""Finds out why an environment could not be built, from the output of uv or pip, in one line."""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator

from onnxperf.errors import BadInput, BadOption
from onnxperf.wording.names import one_line, shortened, visible

_LONGEST = 300
_OFFLINE = re.compile(
    r"name resolution|NewConnectionError|Failed to establish a new connection|Max retries exceeded|ConnectTimeout"
    r"|Network is unreachable|Connection refused|ConnectionResetError|ProxyError|dns error|error sending request"
    r"|tcp connect error|Failed to fetch|network was disabled|network connectivity is disabled|operation timed out",
    re.IGNORECASE,
)
_VERSIONS = re.compile(r"satisfies the requirement (\S+).*?\(from versions: ([^)]*)\)", re.DOTALL)
"""Pip's list of versions with a wheel for this Python."""
_REASON = re.compile(r"No solution found.*?Because (.+?)(?: and you require|, we can conclude|$)", re.DOTALL)
"""The first of uv's reasons; its consequences are known."""
_NOISE = re.compile(r"^(WARNING|\[notice\]|hint)|^\s*$")


class BuildFailed(Exception):
    """A program that builds an environment failed."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def explain(name: str, output: str, option: str = "env") -> BadInput:
    """The error for the user, from the output of uv or pip."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", output)
    if "No space left on device" in text:
        return BadInput(
            f"environment {name} cannot be built: no space left on the disk; remove others, listed by `onnxperf envs`"
        )
    problem = next(_problems(text))
    return BadOption(problem, option=option, value=name)


def _problems(text: str) -> Iterator[str]:
    """The first match; a program that connected at its second attempt mentions the first one, too."""
    here = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    missing, reason = _VERSIONS.search(text), _REASON.search(text)
    versions = _listed(missing[2]) if missing else []
    if missing and versions:
        yield f"no wheel of {_requirement(missing[1])} for {here} in the registry; choose from: {_offer(versions)}"
    if _OFFLINE.search(text):
        yield "the package registry cannot be reached; connect once to build it, or use an existing interpreter"
    if missing:
        yield f"no wheel of {_requirement(missing[1])} for {here} in the registry; check the name"
    if reason:
        yield f"no wheels for {here} match: {_line(re.sub(r'[│╰─▶]', ' ', reason[1]))}; change the versions"
    if "ResolutionImpossible" in text:
        yield f"these packages conflict with each other or with the worker's requirements: {_detail(text)}"
    yield f"it could not be built: {_detail(text)}"


def _listed(versions: str) -> list[str]:
    return [each.strip() for each in versions.split(",") if each.strip() not in ("", "none")]


def _offer(versions: list[str]) -> str:
    """The newest first, and the oldest."""
    newest = ", ".join(reversed(versions[-5:]))
    return newest if len(versions) <= 5 else f"{newest} … {versions[0]}"


def _requirement(text: str) -> str:
    return visible(text.rstrip(","))


def _detail(text: str) -> str:
    """The relevant lines, joined."""
    lines = [line for line in text.splitlines() if not _NOISE.search(line)]
    errors = [line for line in lines if re.match(r"(ERROR|error|\w*Error): ", line)]
    return _line(re.sub(r"(ERROR|error): ", "", " ".join(errors or lines[-8:])))


def _line(text: str) -> str:
    return shortened(visible(one_line(text)), _LONGEST)
