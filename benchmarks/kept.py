"""Benchmarks print their figures and keep them in RESULTS.md, one section per benchmark."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from pathlib import Path

from onnxperf.measure.machine.describe import describe_machine

_FILE = Path(__file__).with_name("RESULTS.md")


def keep(title: str, lines: Sequence[str]) -> None:
    """Print lines, and replace the section of that title in RESULTS.md by them."""
    machine = describe_machine()
    versions = ", ".join(f"{name} {version}" for name, version in machine.versions.items() if name != "onnxperf")
    where = f"{datetime.date.today()}, {machine.cpu}, {machine.cores} cores, Python {machine.python}, {versions}"
    section = "\n".join([f"## {title}", "", f"_{where}_", "", *lines, ""])
    print(section)
    text = _FILE.read_text(encoding="utf-8") if _FILE.exists() else "# Results of the benchmarks\n"
    others = [part for part in re.split(r"(?m)^(?=## )", text) if not part.startswith(f"## {title}\n")]
    _FILE.write_text("\n".join(part.rstrip() + "\n" for part in [*others, section]), encoding="utf-8")


def share(hits: int, total: int) -> str:
    """A part of a whole with its 95 % interval (Wilson)."""
    rate, z = hits / total, 1.96
    center = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return f"{hits} of {total} = {rate:.1%} (95 % interval {max(0.0, center - half):.1%} to {center + half:.1%})"
