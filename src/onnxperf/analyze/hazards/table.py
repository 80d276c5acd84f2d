"""All hazard finders; a new one is discovered because it is in this folder."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from onnxperf.analyze import hazards
from onnxperf.analyze.hazards.base import Facts, Finder
from onnxperf.records.advice import Hazard

_OTHERS = ("base", "table")
"""Files of this folder that are not hazards."""


@cache
def finders() -> dict[str, Finder]:
    """The finder of every kind of hazard, by file name."""
    names = sorted(each.name for each in pkgutil.iter_modules(hazards.__path__) if each.name not in _OTHERS)
    modules = {name: importlib.import_module(f"{hazards.__name__}.{name}") for name in names}
    return {name: module.find for name, module in modules.items() if hasattr(module, "find")}


def hazards_in(facts: Facts) -> list[Hazard]:
    """All hazards found, in the order of the finders' names."""
    return [hazard for find in finders().values() for hazard in find(facts)]
