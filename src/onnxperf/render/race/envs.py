"""Environments as a page."""

from __future__ import annotations

from datetime import datetime

from onnxperf.records.envs import Environment, Environments
from onnxperf.render.kit.column import BYTES, MOMENT, NAME, Column, for_files
from onnxperf.render.kit.page import Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.wording.numbers import NOTHING


def environments_page(record: Environments) -> Page:
    """A line per environment; times of day are those of the reader."""
    if not record.environments:
        return [Line(record.answer)]
    return [Section("Environments", [environments_table(record)]), *answered(record.answer, record.notes)]


def environments_table(record: Environments) -> Table[Environment]:
    """A row per environment; packages are one text, created and used are times with their zone."""
    columns: list[Column[Environment]] = [
        Column("name", "environment", lambda row: row.name, NAME, style="bold", room=24, folds=True),
        for_files("python", lambda row: row.python),
        Column("python_version", "Python", lambda row: row.python_version, width=60),
        Column(
            "packages", "packages", lambda row: _packages(row, " ", "=="), width=100, text=_shown, room=24, folds=True
        ),
        for_files("created", lambda row: row.created, MOMENT),
        Column("size_bytes", "size", lambda row: row.size_bytes, BYTES),
        Column("used", "last used", lambda row: row.used, MOMENT, text=_last_used),
    ]
    return Table(columns, record.environments)


def _packages(row: Environment, between: str, equals: str) -> str:
    return between.join(f"{name}{equals}{version}" for name, version in row.packages.items())


def _shown(row: Environment) -> str:
    return _packages(row, ", ", " ")


def _last_used(row: Environment) -> str:
    return NOTHING if row.used is None else datetime.fromisoformat(row.used).astimezone().strftime("%Y-%m-%d %H:%M")
