"""Finds runtimes: those of onnxperf, and those that other packages provide as entry points."""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import TYPE_CHECKING

from onnxperf.errors import BadOption
from onnxperf.runtimes.base import RuntimeDescription
from onnxperf.wording.names import one_line, visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "onnxperf.runtimes"
"""Entry points of this group map the name of a runtime to its RuntimeDescription."""
_BUILT_IN = {
    "ort": "onnxperf.runtimes.ort",
    "numpy": "onnxperf.runtimes.numpy",
    "reference": "onnxperf.runtimes.reference",
    "openvino": "onnxperf.runtimes.openvino",
}


def runtimes() -> tuple[str, ...]:
    """Names of all runtimes; imports none of them."""
    return (*_BUILT_IN, *_plug_ins())


def find_runtime(name: str) -> RuntimeDescription:
    """The description of a runtime by its name, in this process or in a worker."""
    if name in _BUILT_IN:
        description = importlib.import_module(_BUILT_IN[name]).RUNTIME
        assert isinstance(description, RuntimeDescription)  # noqa: S101 - it is ours
        return description
    if name not in _plug_ins():
        raise BadOption.unknown("runtime", name, runtimes())
    return _loaded(_plug_ins()[name])


def distributions() -> tuple[str, ...]:
    """Packages whose versions belong to a measurement; a plug-in's package stands for it, without being imported."""
    built_in = (each for name in _BUILT_IN for each in find_runtime(name).distributions)
    return tuple(dict.fromkeys([*built_in, *(each.dist.name for each in _plug_ins().values() if each.dist)]))


def _plug_ins() -> dict[str, EntryPoint]:
    return _entry_points(tuple(sys.path))


@cache
def _entry_points(_path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Entry points by name; one whose name is taken is skipped, with a line on stderr."""
    import logging  # workers of our own runtimes do not need it
    from importlib.metadata import entry_points

    found: dict[str, EntryPoint] = {}
    for each in entry_points(group=GROUP):
        owner = "onnxperf" if each.name in _BUILT_IN else _package(found[each.name]) if each.name in found else None
        if owner is None:
            found[each.name] = each
        else:
            logging.getLogger("onnxperf").error(
                "the runtime %s of package %s is ignored: %s already provides one with this name",
                visible(each.name),
                _package(each),
                owner,
            )
    return found


def _loaded(entry: EntryPoint) -> RuntimeDescription:
    place = f"the runtime {visible(entry.name)!r} of package {_package(entry)}"
    try:
        description = entry.load()
    except Exception as error:
        raise BadOption(f"{place} cannot be loaded: {type(error).__name__}: {visible(one_line(error))}") from error
    if not isinstance(description, RuntimeDescription) or description.name != entry.name:
        raise BadOption(f"{place} cannot be loaded: {visible(entry.value)} is not a RuntimeDescription with that name")
    return description


def _package(entry: EntryPoint) -> str:
    return visible(entry.dist.name) if entry.dist else "unknown"
