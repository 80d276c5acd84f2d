"""Reorders into a blocked layout, which may cost more than convolutions win by it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.numbers import count, share_percent

_REORDERS = ("ReorderInput", "ReorderOutput")
"""What onnxruntime inserts around convolutions in the layout NCHWc."""
_OPTIMIZER = "NchwcTransformer"
_LEAST_SHARE = 0.01
"""Part of an inference below which nothing could be won."""


def find(facts: Facts) -> Iterator[Hazard]:
    """Reorders that take a part of the time."""
    nodes = [node for node in facts.profile.nodes if node.op_name in _REORDERS]
    share = facts.share_of(nodes)
    if not nodes or share < _LEAST_SHARE:
        return
    verb = "takes" if len(nodes) == 1 else "take"
    yield Hazard(
        kind="layout-reorders",
        title="layout reorders",
        evidence=f"{count(len(nodes), 'node')} that onnxruntime inserted to change the layout of tensors for "
        f"convolutions {verb} {share_percent(share)} of an inference",
        remedy="open the session without the optimiser that inserts them",
        nodes=tuple(node.name for node in nodes),
        share=share,
        trials=(
            Trial(name="opt_level=extended", settings={"opt_level": "extended"}),
            Trial(name=f"disabled_optimizers={_OPTIMIZER}", settings={"disabled_optimizers": _left_out(facts)}),
        ),
    )


def _left_out(facts: Facts) -> str:
    """The optimisers that the session leaves out already, and the one that inserts reorders."""
    return "+".join(dict.fromkeys([*facts.session.disabled_optimizers, _OPTIMIZER]))
