"""Where cases run: here, or on the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from onnxperf.errors import BadOption


class ClusterPlace(NamedTuple):
    """A cluster."""

    on: str
    """Its address; `ray` is one of our own on this machine."""
    each: bool = False
    """Run every case on every node, instead of on any."""


def place_in(keywords: Mapping[str, Any]) -> ClusterPlace | None:
    """The cluster that keywords name, or None for here."""
    on, each = keywords.get("on"), bool(keywords.get("each_node"))
    if on is None:
        if each:
            raise BadOption("only a cluster has nodes; add `on=ray` or an address", option="each_node")
        return None
    from onnxperf.cluster.ray_connection import check_address

    check_address(on)
    return ClusterPlace(on, each)
