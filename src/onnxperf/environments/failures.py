"""Why an environment could not be built, read from what uv or pip printed, as one line."""

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
    r"|tcp connect error|Failed to fetch|network connectivity is disabled|operation timed out",
    re.IGNORECASE,
)
_VERSIONS = re.compile(r"satisfies the requirement (\S+).*?\(from versions: ([^)]*)\)", re.DOTALL)
"""Pip's list of versions with a wheel for this Python."""
_NO_SOLUTION = re.compile(r"(?:there is no version of|there are no versions of|no wheels? with|has no wheels) ?(\S*)")
"""Uv's words for what the registry does not have."""
_CONFLICT = re.compile(r"ResolutionImpossible|conflicting dependencies|are incompatible|requirements are unsatisfiable")
_NOISE = re.compile(r"^(WARNING|\[notice\]|hint)|^\s*$")


class BuildFailed(Exception):
    """A program that builds an environment ended with an error."""

    def __init__(self, output: str) -> None:
        super().__init__(output)
        self.output = output


def explain(name: str, output: str) -> BadInput:
    """What the output of uv or pip means for the user."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", output)
    if "No space left on device" in text:
        return BadInput(f"no environment {name} can be built: no space left on the disk; `onnxperf envs` lists the others")
    problem = next(_problems(text))
    return BadOption(problem, option="env", value=name)


def _problems(text: str) -> Iterator[str]:
    """The first that fits."""
    if _OFFLINE.search(text):
        yield "the package registry cannot be reached; connect once to build it, or name an interpreter that exists"
    here = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {sysconfig.get_platform()}"
    if found := _VERSIONS.search(text):
        yield f"the registry has no wheel of {_requirement(found[1])} for {here}; {_offer(found[2])}"
    if _CONFLICT.search(text):
        yield f"these packages contradict each other or what a worker needs: {_detail(text)}"
    if "No solution found" in text or _NO_SOLUTION.search(text):
        yield f"the registry has no such wheels for {here}: {_detail(text)}"
    yield f"it could not be built: {_detail(text)}"


def _offer(versions: str) -> str:
    """The versions that there are, the newest first."""
    known = [each.strip() for each in versions.split(",") if each.strip() not in ("", "none")]
    if not known:
        return "check its name"
    newest = ", ".join(reversed(known[-5:]))
    return f"choose from: {newest}" + (f" … {known[0]}" if len(known) > 5 else "")


def _requirement(text: str) -> str:
    return visible(text.rstrip(","))


def _detail(text: str) -> str:
    """The lines that say something, as one."""
    lines = [line for line in text.splitlines() if not _NOISE.search(line)]
    errors = [line for line in lines if re.match(r"(ERROR|error|.*Error): ", line)]
    told = " ".join(errors or lines[-8:])
    return shortened(visible(one_line(re.sub(r"(ERROR|error): ", "", told))), _LONGEST)
