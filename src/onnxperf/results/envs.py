"""The environments that were built: a view on their record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.envs import Environment, Environments
from onnxperf.render.kit.page import Page
from onnxperf.render.race.envs import environments_page
from onnxperf.results.old_base import OldResult, struct_frame

if TYPE_CHECKING:
    from pandas import DataFrame


class EnvsResult(OldResult[Environments]):
    """What `onnxperf.envs` returns: environments with their packages, sorted by name."""

    tables = {"environments": lambda self: _environments(self.record)}

    def page(self) -> Page:
        """A line per environment."""
        return environments_page(self.record)


def _environments(record: Environments) -> DataFrame:
    """One row per environment; packages are one text, created and used are times with their zone."""
    from pandas import to_datetime

    packages = [
        " ".join(f"{name}=={version}" for name, version in each.packages.items()) for each in record.environments
    ]
    table = struct_frame(record.environments, Environment).assign(packages=packages)
    for column in ("created", "used"):
        table[column] = to_datetime(table[column], utc=True, format="ISO8601")
    return table
