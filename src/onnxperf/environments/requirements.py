"""Descriptions of environments: packages joined by `+`, in a strict grammar, or the path of an interpreter."""

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
"""PEP 508 without external references or conditions: no addresses, paths, options or markers. Local versions are
excluded, because `+` separates packages; a public version matches them."""
_LONGEST = 200
_EXPECTED = "packages such as onnxruntime==1.20.1 (several joined with +), or the path of a Python interpreter"


def is_path(text: str) -> bool:
    """Whether this is the path of an interpreter: requirements contain no separator, and addresses are not allowed."""
    return "://" not in text and ("/" in text or "\\" in text or text.startswith("~"))


def requirements_of(text: str) -> tuple[str, ...]:
    """The packages in a text, each in a normalized spelling; everything else is rejected."""
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
            raise BadOption(f"{name} is given twice; give each package once", option="env", value=_shown(text))
        found[name] = f"{name}{match['extras'] or ''}{match['versions'] or ''}"
    return tuple(found.values())


def package_of(requirement: str) -> str:
    """The package name in a requirement."""
    match = _REQUIREMENT.match(requirement)
    assert match is not None  # noqa: S101 - it was parsed before
    return match["name"]


def normalized(name: str) -> str:
    """A package's name, normalized as registries do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _refusal(text: str, part: str = "") -> BadOption:
    problem = f"{_shown(part)!r} is not a package with a version" if part else ""
    return BadOption(problem, option="env", value=_shown(text), expected=_EXPECTED)


def _shown(text: str) -> str:
    return shortened(visible(text), 80)
