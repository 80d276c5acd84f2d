"""Releases of a package, parsed from a range or a list and chosen from the existing ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from onnxperf.errors import BadOption
from onnxperf.wording.names import shortened, visible

_FINAL = r"\d+(?:\.\d+)*"
_WANTED = re.compile(
    rf"(?P<package>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==(?P<first>{_FINAL})(?:\.\.(?P<last>{_FINAL}))?"
    r"(?P<more>\+[^,]+)?"
)
_EXPECTED = "a range such as onnxruntime==1.20..1.31, or releases such as onnxruntime==1.20.1,onnxruntime==1.21.0"

Versions = Callable[[str], Sequence[str]]
"""Returns all versions of a package that can be installed here."""


class Release(NamedTuple):
    """A release as an environment."""

    name: str
    """Display name: package and version."""
    requirement: str
    """The environment, including other requested packages."""


def releases_in(text: str, versions: Versions) -> list[Release]:
    """The releases specified by a text; those of a range are in version order."""
    found: list[Release] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        match = _WANTED.fullmatch(part)
        if match is None:
            raise BadOption(option="releases", value=shortened(visible(part), 80), expected=_EXPECTED)
        package, first, last, more = match["package"], match["first"], match["last"], match["more"] or ""
        chosen = [first] if last is None else _between(versions(package), first, last)
        if not chosen:
            raise BadOption(f"there is no final release of {package} in this range", option="releases", value=part)
        found += [Release(f"{package} {version}", f"{package}=={version}{more}") for version in chosen]
    if len(found) < 2:
        raise BadOption("a bisection needs at least two releases", option="releases", value=text, expected=_EXPECTED)
    twice = next((each.name for each in found if found.count(each) > 1), None)
    if twice is not None:
        raise BadOption(f"{twice} is named twice; name each release once", option="releases", value=text)
    return found


def _between(versions: Iterable[str], first: str, last: str) -> list[str]:
    """Final releases from `first` to `last`, including patch releases of both."""
    low, high = _numbers(first), _numbers(last)
    final = {version: _numbers(version) for version in versions if re.fullmatch(_FINAL, version)}
    wanted = [version for version, numbers in final.items() if low <= numbers and numbers[: len(high)] <= high]
    return sorted(wanted, key=lambda version: final[version])


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))
