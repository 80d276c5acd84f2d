"""How a history is shown."""

from __future__ import annotations

from onnxperf.records.history import History
from onnxperf.render.race.history import (
    changes_table,
    groups_table,
    history_charts,
    history_page,
    points_table,
    series_table,
)
from onnxperf.results.base import Show

SHOW = Show(
    History,
    "history",
    history_page,
    tables={"points": points_table, "changes": changes_table, "groups": groups_table, "series": series_table},
    charts={"history": history_charts},
)
