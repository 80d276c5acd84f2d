"""The history of a model: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.history import History, HistoryGroup
from onnxperf.render.kit.page import Page
from onnxperf.render.race.history import history_page
from onnxperf.render.race.history_chart import history_plot
from onnxperf.render.web.old_base import Story
from onnxperf.render.web.sections.history import history_sections
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.wording.names import dims_text

if TYPE_CHECKING:
    from pandas import DataFrame

_SERIES = ("series", "machine", "dims")
_POINT = (
    *("run", "started", "time_ns", "yardstick_ns", "median_ns", "mean_ns"),
    *("status", "version", "commit", "dirty", "fingerprint"),
)
_PLACE = ("run", "started", "commit", "version", "last_run_before")
_CHANGE = ("before_ns", "after_ns", "ratio", "ratio_low", "ratio_high", "p_value")


class HistoryResult(OldResult[History]):
    """What `onnxperf.history` returns: series of runs, and where their times change."""

    tables = {
        "points": lambda self: _points(self.record),
        "changes": lambda self: _changes(self.record),
        "groups": lambda self: _groups(self.record),
    }
    """One row per run and series, per change point, and per version, commit, machine or day."""
    charts = {"history": history_plot}
    sections = (history_sections,)

    def page(self) -> Page:
        """Every series, its change points and its groups, and the answer."""
        return history_page(self.record)

    def story(self) -> Story:
        """The history, with the order that was chosen."""
        story = super().story()
        return story if self.record.by is None else story._replace(topic=f"{story.topic} by {self.record.by}")


def _named(record: History) -> list[tuple[str, str, str]]:
    return [(each.name, each.machine, dims_text(each.dims)) for each in record.series]


def _points(record: History) -> DataFrame:
    """One row per run and series, in the order of the series; `started` is a time with its zone."""
    from pandas import to_datetime

    rows = [
        (*names, *(getattr(point, field) for field in _POINT))
        for names, series in zip(_named(record), record.series, strict=True)
        for point in series.points
    ]
    table = frame_of(rows, (*_SERIES, *_POINT))
    table["started"] = to_datetime(table["started"], utc=True, format="ISO8601")
    return table


def _changes(record: History) -> DataFrame:
    """One row per change point."""
    rows = []
    for names, series in zip(_named(record), record.series, strict=True):
        for each in series.changes:
            after = each.first_after
            place = (after.run, after.started, after.commit, after.version, each.last_before.run)
            rows.append((*names, *place, *(getattr(each, field) for field in _CHANGE)))
    return frame_of(rows, (*_SERIES, *_PLACE, *_CHANGE))


def _groups(record: History) -> DataFrame:
    """One row per version, commit, machine or day of every series."""
    fields = HistoryGroup.__struct_fields__
    rows = [
        (*names, *(getattr(group, field) for field in fields))
        for names, series in zip(_named(record), record.series, strict=True)
        for group in series.groups
    ]
    return frame_of(rows, (*_SERIES, *fields))
