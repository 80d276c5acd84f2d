"""What may name an environment: packages joined by `+`, in a strict grammar, or the path of an interpreter."""

from __future__ import annotations

import re

from onnxperf.errors import BadOption
from onnxperf.wording.names import shortened, visible

_NAME = r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?"
_VERSION = r"(?:\d+!)?\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?"
_SPECIFIER = rf"(?:(?:==|!=){_VERSION}(?:\.\*)?|(?:~=|<=|>=|<|>){_VERSION})"
_REQUIREMENT = re.compile(
    rf"(?P<name>{_NAME})(?P<extras>\[{_NAME}(?:,{_NAME})*\])?(?P<versions>{_SPECIFIER}(?:,{_SPECIFIER})*)?", re.ASCII
)
"""PEP 508 without what leads elsewhere or decides anything: no addresses, paths, options or markers. Local versions
are left out, because `+` separates packages; a public version matches them."""
_LONGEST = 200
_EXPECTED = "packages such as onnxruntime==1.20.1 (several joined with +), or the path of a Python interpreter"


def is_path(text: str) -> bool:
    """Whether this is the path of an interpreter: no requirement has a separator, and no address is either."""
    return "://" not in text and ("/" in text or "\\" in text or text.startswith("~"))


def requirements_of(text: str) -> tuple[str, ...]:
    """The packages that a text asks for, each spelled in one way; refuses everything else."""
    plain = re.sub(r" *([=<>!~,+]+) *", r"\1", text.strip(" ")).lower()
    parts = plain.split("+")
    if len(plain) > _LONGEST or not plain:
        raise _refusal(text)
    found = {}
    for part in parts:
        match = _REQUIREMENT.fullmatch(part)
        if match is None:
            raise _refusal(text, part if len(parts) > 1 else "")
        name = normalized(match["name"])
        if name in found:
            raise BadOption(f"{name} is named twice; name each package once", option="env", value=_shown(text))
        found[name] = f"{name}{match['extras'] or ''}{match['versions'] or ''}"
    return tuple(found.values())


def package_of(requirement: str) -> str:
    """The package that a requirement is about."""
    match = _REQUIREMENT.match(requirement)
    assert match is not None  # noqa: S101 - it was parsed before
    return match["name"]


def normalized(name: str) -> str:
    """A package's name as registries compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _refusal(text: str, part: str = "") -> BadOption:
    problem = f"{_shown(part)!r} is not a package with its version" if part else ""
    return BadOption(problem, option="env", value=_shown(text), expected=_EXPECTED)


def _shown(text: str) -> str:
    return shortened(visible(text), 80)
