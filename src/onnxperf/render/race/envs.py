"""Environments as a page."""

from __future__ import annotations

from datetime import datetime, tzinfo

from onnxperf.records.envs import Environment, Environments
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Line, Part, closing
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import NOTHING, size

_COLUMNS = (
    Column("environment", left=True, room=24, folds=True),
    Column("Python", left=True, rank=1),
    Column("packages", left=True, rank=2, room=24, folds=True),
    Column("size"),
    Column("last used", left=True),
)


def environments_page(record: Environments, zone: tzinfo | None = None) -> list[Part]:
    """A line per environment; times of day are those of the reader."""
    if not record.environments:
        return [Line(record.answer)]
    rows = [Row(_cells(each, zone), styles={0: "bold"}) for each in record.environments]
    return [Table(_COLUMNS, rows), *closing(record.answer, record.notes)]


def _cells(each: Environment, zone: tzinfo | None) -> tuple[str, ...]:
    packages = ", ".join(f"{name_of(name)} {name_of(version)}" for name, version in each.packages.items())
    used = (
        NOTHING if each.used is None else datetime.fromisoformat(each.used).astimezone(zone).strftime("%Y-%m-%d %H:%M")
    )
    return name_of(each.name), each.python_version, packages, size(each.size_bytes), used
