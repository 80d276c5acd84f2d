"""The nodes of a cluster side by side, on a page."""

from __future__ import annotations

from onnxperf.records.sweep import NodeComparison
from onnxperf.render.kit.page import Line
from onnxperf.render.race.nodes import nodes_table
from onnxperf.render.web.old_base import Section


def nodes_section(found: NodeComparison) -> Section:
    """The same cases on each node, and what that says."""
    return Section("Nodes", [nodes_table(found), *map(Line, found.lines)])
