"""Reorders into a blocked layout, which may cost more than convolutions gain from it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, share_percent

_REORDERS = ("ReorderInput", "ReorderOutput")
"""Operators inserted by onnxruntime around convolutions in the NCHWc layout."""
_OPTIMIZER = "NchwcTransformer"
_LEAST_SHARE = 0.01
"""Share of an inference below which there is nothing to gain."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Reorders that take a significant share of the time."""
    nodes = [node for node in facts.profile.nodes if node.op_name in _REORDERS]
    share = facts.share_of(nodes)
    if not nodes or share < _LEAST_SHARE:
        return
    verb = "takes" if len(nodes) == 1 else "take"
    yield Hazard(
        kind="layout-reorders",
        title="layout reorders",
        evidence=f"{count(len(nodes), 'node')} inserted by onnxruntime to change the layout of tensors for "
        f"convolutions {verb} {share_percent(share)} of an inference",
        remedy="disable the optimizer that inserts them",
        nodes=tuple(node.name for node in nodes),
        share=share,
        trials=(
            Trial(name="opt_level=extended", settings={"opt_level": "extended"}),
            Trial(name=f"disabled_optimizers={_OPTIMIZER}", settings={"disabled_optimizers": _left_out(facts)}),
        ),
    )


def _left_out(facts: Facts) -> str:
    """The optimizers already disabled in the session, and the one that inserts reorders."""
    return "+".join(dict.fromkeys([*facts.session.disabled_optimizers, _OPTIMIZER]))
