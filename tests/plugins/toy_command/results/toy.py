"""What counting found."""

from __future__ import annotations

from onnxperf.records.toy import Toy  # type: ignore[import-not-found]
from onnxperf.render.race.toy import operators_charts, operators_table, toy_page  # type: ignore[import-not-found]

from onnxperf.results.base import Show

SHOW = Show(Toy, "toy", toy_page, tables={"operators": operators_table}, charts={"operators": operators_charts})
