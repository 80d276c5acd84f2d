"""What a diff found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from onnxperf.analyze.trace.diff_sources import by_source, knows_sources, shown_sources
from onnxperf.analyze.trace.diff_sums import by_call, by_row, row_changed_most
from onnxperf.errors import BadOption
from onnxperf.records.diff import Diff, DiffSum, SourceChange
from onnxperf.render.charts.base import Chart, Width
from onnxperf.render.graph.png import graph_png, require_resvg
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.page import Page
from onnxperf.render.kit.table import Table
from onnxperf.render.profile import tables as profile_tables
from onnxperf.render.profile.diff import (
    MIN_SHARE,
    MOST_KINDS,
    Shown,
    changes_charts,
    diff_page,
    nodes_charts,
    operators_charts,
    sources_charts,
)
from onnxperf.render.profile.diff_tables import alone, labels_table, nodes_table, sources_table
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format
from onnxperf.results.profile import ProfileResult

if TYPE_CHECKING:
    from pandas import DataFrame


def _page(diff: Diff, min_share: float = MIN_SHARE) -> Page:
    changes = by_source(diff)
    named = None if changes else row_changed_most(diff.rows)
    screen = Shown(shown_sources(changes, min_share), by_row(diff, min_share, named))
    return diff_page(diff, screen, Shown(changes, [*map(alone, diff.rows)]), by_call(diff, MIN_SHARE, MOST_KINDS))


def _merged(diff: Diff, per_iteration: bool = True) -> Table[DiffSum]:
    return nodes_table(diff, [*map(alone, diff.rows)], per_iteration)


def _sources(diff: Diff) -> Table[SourceChange]:
    if not knows_sources(diff):
        raise BadOption("no original nodes are known: compare one model with itself, or two versions of a model")
    return sources_table(diff, by_source(diff))


def _nodes(diff: Diff, min_share: float = MIN_SHARE) -> list[Chart]:
    return nodes_charts(diff, by_call(diff, min_share, MOST_KINDS))


SHOW = Show(
    Diff,
    "diff",
    _page,
    tables={
        "merged": _merged,
        "labels": labels_table,
        "sources": _sources,
        "before_nodes": lambda diff: profile_tables.nodes_table(diff.before, per_iteration=True),
        "after_nodes": lambda diff: profile_tables.nodes_table(diff.after, per_iteration=True),
    },
    charts={
        "nodes": _nodes,
        "operators": operators_charts,
        "sources": lambda diff: sources_charts(diff, by_source(diff)),
        "changes": changes_charts,
        **charts_of_races(lambda diff: [diff.race]),
    },
    own={
        ".graph.svg": Format("a drawing of both graphs", lambda result, _: result.graph_svg().encode()),
        ".graph.png": Format(
            "a drawing of both graphs",
            lambda result, _: graph_png(result.graph_svg()),
            requires=require_resvg,
            binary=True,
        ),
    },
)


class DiffResult(Result[Diff]):
    """What `onnxperf.diff` returns; `before` and `after` are the profiles of its sides."""

    show = SHOW

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
        return _page(self.record, min_share)

    def table_names(self) -> list[str]:
        """The tables that this diff has; traces and unrelated models have no original nodes."""
        known = knows_sources(self.record)
        return [name for name in super().table_names() if known or name != "sources"]

    def by_source(self) -> DataFrame:
        """One row per group of original nodes, the largest change first; time in the usual iteration."""
        return self.table("sources")

    def merged(self, per_iteration: bool = True) -> DataFrame:
        """One row per node of both sides, an outer join; time in the usual iteration, or sums."""
        return frame_of(_merged(self.record, per_iteration))

    def by_label(self, per_iteration: bool = True, min_share: float = 0.0) -> DataFrame:
        """Times by label, the most costly first; labels under `min_share` of all time are left out."""
        frame = frame_of(labels_table(self.record, per_iteration)).set_index("label")
        both = frame["before_us"].fillna(0) + frame["after_us"].fillna(0)
        return frame[both >= min_share * both.sum()]

    def graph_svg(self) -> str:
        """Both graphs with the nodes kept, fused, removed and added, as `onnxperf.diff_view` draws them."""
        if self._drawing is None:
            raise BadOption("only a diff of models has graphs to draw, and only until it is read from the store")
        return self._drawing()

    def plot(
        self, ax: Any = None, chart: str | None = None, width: Width = "page", min_share: float = MIN_SHARE
    ) -> Any:
        """Time and number per kind of node on both sides, unless another chart is named."""
        panels = _nodes(self.record, min_share) if chart is None else self.charts(chart)
        return self.drawn(panels, ax, width)

    def plot_operators(self, ax: Any = None) -> Any:
        """Time and executions per operator, of both sides."""
        return self.plot(ax, "operators")
