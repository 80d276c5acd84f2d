"""What profiles of several variants found: a view on their record."""

from __future__ import annotations

from onnxperf.records.profiles import Profiles
from onnxperf.render.profile.profiles import (
    operators_charts,
    operators_table,
    profiles_page,
    variant_nodes_table,
    whole_charts,
)
from onnxperf.results.base import Result, Show
from onnxperf.results.profile import ProfileResult

SHOW = Show(
    Profiles,
    "profiles",
    profiles_page,
    tables={"operators": operators_table, "nodes": variant_nodes_table},
    charts={"operators": operators_charts, "inferences": whole_charts},
)


class ProfilesResult(Result[Profiles]):
    """What `onnxperf.profile` returns if a setting has several values; `[name]` is the profile of a variant."""

    show = SHOW

    def __getitem__(self, name: str) -> ProfileResult:
        """The profile of a variant: its sums, without its events."""
        return ProfileResult({profile.model: profile for profile in self.record.variants}[name])
