"""Kernels by family; importing a module registers its kernels."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache


@cache
def load_all() -> None:
    """Import every family."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
