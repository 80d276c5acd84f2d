"""What a diff found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from onnxperf.analyze.trace.diff_sources import by_source, knows_sources, shown_sources
from onnxperf.analyze.trace.diff_sums import by_call, by_row, row_changed_most
from onnxperf.errors import BadOption
from onnxperf.records.diff import Diff
from onnxperf.render.graph.png import graph_png, require_resvg
from onnxperf.render.kit.old_chart import MAX_BARS
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.diff import MIN_SHARE, diff_page
from onnxperf.render.profile.diff_chart import diff_plot, operators_plot
from onnxperf.render.web.old_base import Section, Story, without_tables
from onnxperf.render.web.sections.diff import diff_sections
from onnxperf.results.old_base import OldResult, frame_of, with_total
from onnxperf.results.old_formats import Format
from onnxperf.results.profile import ProfileResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

    from onnxperf.render.kit.old_chart import AxesArray

_SIDES = {"=": "both", "-": "before", "+": "after"}
"""What the sign of a row means. Files have the word: a spreadsheet takes a sign for the start of a formula."""
_SOURCE_COLUMNS = (
    "label",
    "sources",
    "source_ops",
    "before_executed",
    "after_executed",
    "path",
    "before_us",
    "after_us",
    "change_us",
    "verdict",
    "speedup",
    "speedup_low",
    "speedup_high",
)
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
    "after_op_name",
    "path",
    "label",
)
"""Of `merged`, which has them without rows, too."""


class DiffResult(OldResult[Diff]):
    """What `onnxperf.diff` returns; `before` and `after` are the profiles of its sides."""

    tables = {
        "merged": lambda self: self.merged(),
        "labels": lambda self: self.by_label().reset_index(),
        "sources": lambda self: self.by_source(),
        "before_nodes": lambda self: self.before.by_node(),
        "after_nodes": lambda self: self.after.by_node(),
    }
    charts = {
        "nodes": lambda record, ax=None: diff_plot(record, by_call(record, MIN_SHARE, MAX_BARS), ax),
        "operators": operators_plot,
    }
    own_formats = {
        ".graph.svg": Format("a drawing of both graphs", lambda result, _table: result.graph_svg().encode()),
        ".graph.png": Format(
            "a drawing of both graphs",
            lambda result, _table: graph_png(result.graph_svg()),
            requires=require_resvg,
            binary=True,
        ),
    }

    def __init__(
        self,
        record: Diff,
        before: ProfileResult | None = None,
        after: ProfileResult | None = None,
        drawing: Callable[[], str] | None = None,
    ) -> None:
        super().__init__(record)
        self.before = before or ProfileResult(record.before)
        self.after = after or ProfileResult(record.after)
        self._drawing = drawing

    def page(self, min_share: float = MIN_SHARE) -> Page:
        """Both sides, the result of the race, and the nodes side by side."""
        changes = shown_sources(by_source(self.record), min_share)
        named = None if changes else row_changed_most(self.record.rows)
        return diff_page(self.record, by_row(self.record, min_share, named), changes)

    def story_sections(self) -> list[Section]:
        """The race, operators and nodes of both sides, and what their difference consists of."""
        return diff_sections(self.record, by_row(self.record, 0.0), by_source(self.record))

    def story(self) -> Story:
        """Its tables stand in sections of their own."""
        return without_tables(super().story())

    def table_names(self) -> list[str]:
        """The tables that this diff has, original nodes first; traces and unrelated models have none of these."""
        names = [name for name in self.tables if name != "sources"]
        return ["sources", *names] if knows_sources(self.record) else names

    def sheet(self, name: str | None = None) -> DataFrame:
        """A table as files hold it: with its total, times per iteration, and words instead of signs."""
        frame = self._with_total(next(iter(self.tables)) if name is None else name)
        if "side" in frame.columns:
            frame["side"] = [_SIDES.get(side) for side in frame["side"]]
        return frame.rename(columns=lambda each: f"{each}_per_iteration" if _is_amount(each) else each)

    def _with_total(self, name: str) -> DataFrame:
        if name in ("before_nodes", "after_nodes"):
            frame = (self.before if name == "before_nodes" else self.after).by_node(per_iteration=True)
            total = {each: math.fsum(frame[each].dropna()) for each in frame.columns if each in _NODE_SUMS}
            return with_total(frame, {"node_name": "total", **total}) if len(frame) else frame
        frame = self.table(name)
        if frame.empty:
            return frame
        before, after = (math.fsum(frame[side].dropna()) for side in ("before_us", "after_us"))
        times = {"before_us": before, "after_us": after, "change_us": after - before}
        speedup = before / after if after > 0 else None
        return with_total(frame, {"op_name": "total", "label": "total", **times, "speedup": speedup})

    def by_source(self) -> DataFrame:
        """One row per group of original nodes, the largest change first; time in the usual iteration."""
        if not knows_sources(self.record):
            raise BadOption("no original nodes are known: compare one model with itself, or two versions of a model")
        rows = [
            (
                each.label,
                each.names,
                each.ops,
                each.before_executed,
                each.after_executed,
                "/".join(each.path),
                each.before_us,
                each.after_us,
                each.change_us,
                each.verdict,
                each.speedup,
                each.speedup_low,
                each.speedup_high,
            )
            for each in by_source(self.record)
        ]
        return frame_of(rows, _SOURCE_COLUMNS)

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
                "after_op_name": row.after_op_name or (row.op_name if row.side != "-" else ""),
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

    def graph_svg(self) -> str:
        """Both graphs with what was kept, fused, removed and added, as `onnxperf.diff_view` draws them."""
        if self._drawing is None:
            raise BadOption("only a diff of models has graphs to draw, and only until it is read from the store")
        return self._drawing()

    def plot(self, ax: Sequence[Axes] | None = None, min_share: float = MIN_SHARE) -> AxesArray:
        """Duration and count, side by side, per label."""
        return diff_plot(self.record, by_call(self.record, min_share, MAX_BARS), ax)

    def plot_operators(self) -> AxesArray:
        """Duration and occurrences per operator, of the first side and below of the second."""
        return operators_plot(self.record)


_NODE_SUMS = frozenset({"calls", "self_us", "share", "first_us", "usual_us", "kernel_us"})
"""Columns of nodes that add up; a time with bodies counts what is inside twice."""


def _is_amount(column: str) -> bool:
    return column.endswith("_us") or column == "calls"


def _time(times: Sequence[int], usual: float, per_iteration: bool) -> float:
    if not times:
        return float("nan")
    return usual if per_iteration else float(sum(times))
