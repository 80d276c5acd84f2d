"""What profiles of several variants found: a view on their record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records.profiles import Profiles
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.profiles import profiles_page, profiles_plot
from onnxperf.render.web.sections.profiles import profiles_sections
from onnxperf.results.old_base import OldResult, frame_of, with_total
from onnxperf.results.profile import ProfileResult

if TYPE_CHECKING:
    from pandas import DataFrame


class ProfilesResult(OldResult[Profiles]):
    """What `onnxperf.profile` returns where a setting has several values; `[name]` is the profile of a variant."""

    tables = {
        "operators": lambda self: self.by_operator(),
        "nodes": lambda self: self.by_node(),
    }
    charts = {"operators": profiles_plot}
    sections = (profiles_sections,)

    def page(self) -> Page:
        """Time per operator, a column for each variant."""
        return profiles_page(self.record, self.answer)

    def sheet(self, name: str | None = None) -> DataFrame:
        """A table as files hold it; that of operators ends with the total of each variant."""
        frame = self.table(name)
        if name not in (None, "operators") or frame.empty:
            return frame
        return with_total(
            frame, {"op_name": "total", **{each.model: each.usual_nodes_us for each in self.record.variants}}
        )

    def __getitem__(self, name: str) -> ProfileResult:
        """The profile of a variant: its sums, without its events."""
        return ProfileResult({profile.model: profile for profile in self.record.variants}[name])

    def by_operator(self) -> DataFrame:
        """Time per operator in the usual iteration, in microseconds; a column for each variant."""
        columns = {each.model: {o.op_name: o.usual_us for o in each.operators} for each in self.record.variants}
        rows = [[name, *(times.get(name) for times in columns.values())] for name in self.record.operators]
        return frame_of(rows, ["op_name", *columns])

    def by_node(self) -> DataFrame:
        """One row per variant and executed node."""
        rows = [
            [profile.model, node.name, node.op_name, node.calls, node.usual_us, node.sources]
            for profile in self.record.variants
            for node in profile.nodes
        ]
        return frame_of(rows, ["variant", "node_name", "op_name", "calls", "usual_us", "sources"])
