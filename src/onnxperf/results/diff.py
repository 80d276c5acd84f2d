"""What a diff found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxperf.analyze.trace.diff_sources import by_source
from onnxperf.analyze.trace.diff_sums import by_call, by_row
from onnxperf.records.diff import Diff
from onnxperf.render.kit.chart import MAX_BARS
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.diff import MIN_SHARE, diff_page
from onnxperf.render.profile.diff_chart import diff_plot, operators_plot
from onnxperf.render.web.base import Section, Story, without_tables
from onnxperf.render.web.sections.diff import diff_sections
from onnxperf.results.base import Result, with_total
from onnxperf.results.profile import ProfileResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from onnxperf.render.kit.chart import AxesArray

_COLUMNS = (
    "op_name",
    "outputs",
    "inputs",
    "provider",
    "idx",
    "before_us",
    "after_us",
    "side",
    "noise",
    "verdict",
    "speedup",
    "speedup_low",
    "speedup_high",
    "before_name",
    "after_name",
    "path",
    "label",
)
"""Of `merged`, which has them without rows, too."""


class DiffResult(Result[Diff]):
    """What `onnxperf.diff` returns; `before` and `after` are the profiles of its sides."""

    tables = {
        "merged": lambda self: self.merged(),
        "labels": lambda self: self.by_label().reset_index(),
        "before_nodes": lambda self: self.before.by_node(),
        "after_nodes": lambda self: self.after.by_node(),
    }
    charts = {
        "nodes": lambda record, ax=None: diff_plot(record, by_call(record, MIN_SHARE, MAX_BARS), ax),
        "operators": operators_plot,
    }

    def __init__(self, record: Diff, before: ProfileResult | None = None, after: ProfileResult | None = None) -> None:
        super().__init__(record)
        self.before = before or ProfileResult(record.before)
        self.after = after or ProfileResult(record.after)

    def page(self, min_share: float = MIN_SHARE) -> Page:
        """Both sides, the result of the race, and the nodes side by side."""
        return diff_page(self.record, by_row(self.record, min_share))

    def story_sections(self) -> list[Section]:
        """The race, operators and nodes of both sides, and what their difference consists of."""
        return diff_sections(self.record, by_row(self.record, 0.0), by_source(self.record))

    def story(self) -> Story:
        """Its tables stand in sections of their own."""
        return without_tables(super().story())

    def sheet(self, name: str | None = None) -> DataFrame:
        """A table as files hold it; it ends with its total."""
        name = next(iter(self.tables)) if name is None else name
        if name in ("before_nodes", "after_nodes"):
            return (self.before if name == "before_nodes" else self.after).sheet("nodes")
        frame = self.table(name)
        if frame.empty:
            return frame
        before, after = (math.fsum(frame[side].dropna()) for side in ("before_us", "after_us"))
        speedup = before / after if after > 0 else None
        total = {"before_us": before, "after_us": after, "speedup": speedup}
        return with_total(frame, {"op_name": "total", "label": "total", **total})

    def merged(self, per_iteration: bool = True) -> DataFrame:
        """One row per node of both sides, an outer join; time in the usual iteration, or sums."""
        from pandas import DataFrame

        rows = [
            {
                "op_name": row.op_name,
                "outputs": row.outputs,
                "inputs": row.inputs,
                "provider": row.provider,
                "idx": row.idx,
                "before_us": _time(row.before_us, row.before_usual_us, per_iteration),
                "after_us": _time(row.after_us, row.after_usual_us, per_iteration),
                "side": row.side,
                "noise": row.noise,
                "verdict": row.verdict,
                "speedup": row.speedup,
                "speedup_low": row.speedup_low,
                "speedup_high": row.speedup_high,
                "before_name": row.before_name,
                "after_name": row.after_name,
                "path": "/".join(row.path),
                "label": row.label,
            }
            for row in self.record.rows
        ]
        return DataFrame(rows, columns=_COLUMNS)

    def by_label(self, per_iteration: bool = True, min_share: float = 0.0) -> DataFrame:
        """Times by label, the most costly first; labels under `min_share` of all time are left out."""
        merged = self.merged(per_iteration)
        sums = merged.groupby("label").agg(
            before_us=("before_us", "sum"),
            after_us=("after_us", "sum"),
            idx=("idx", "max"),
            side=("side", "first"),
            noise=("noise", "all"),
        )
        both = sums["before_us"] + sums["after_us"]
        kept = sums[both >= min_share * both.sum()]
        ordered: DataFrame = kept.loc[both[kept.index].sort_values(ascending=False, kind="stable").index]
        return ordered

    def plot(self, ax: Sequence[Axes] | None = None, min_share: float = MIN_SHARE) -> AxesArray:
        """Duration and count, side by side, per label."""
        return diff_plot(self.record, by_call(self.record, min_share, MAX_BARS), ax)

    def plot_operators(self) -> AxesArray:
        """Duration and occurrences per operator, of the first side and below of the second."""
        return operators_plot(self.record)


def _time(times: Sequence[int], usual: float, per_iteration: bool) -> float:
    if not times:
        return float("nan")
    return usual if per_iteration else float(sum(times))
