"""A graph as JSON: the record itself, which is documented and stable."""

from __future__ import annotations

from msgspec.structs import replace

from onnxperf.records.view import GraphView, Metrics
from onnxperf.render.kit.old_export import to_json


def graph_json(view: GraphView, metrics: Metrics | None = None) -> str:
    """The whole view, with what its nodes cost where that is known."""
    return to_json(replace(view, metrics=metrics)).decode()
