"""Numbers read back from the texts of `numbers`, so that tables of texts can be sorted."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1.0,
    "µs": 1e3,
    "ms": 1e6,
    "s": 1e9,
    "B": 1.0,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
    "TiB": 2.0**40,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "%": 1e-2,
}
_NUMBER = re.compile(r"[±~≈<>]?\s*([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?:\s*([^\W\d_]+|%))?")


def number_in(text: str) -> float | None:
    """The number with which a text begins, in the smallest unit of its kind; None where there is none."""
    found = _NUMBER.match(text.strip())
    if found is None:
        return None
    return float(found[1].replace(",", "")) * _UNITS.get(found[2] or "", 1.0)
