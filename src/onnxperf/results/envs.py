"""The environments that were built: a view on their record."""

from __future__ import annotations

from onnxperf.records.envs import Environments
from onnxperf.render.race.envs import environments_page, environments_table
from onnxperf.results.base import Show

SHOW = Show(Environments, "envs", environments_page, tables={"environments": environments_table})
