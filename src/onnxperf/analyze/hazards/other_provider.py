"""Nodes that run on a different execution provider than requested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from onnxperf.analyze.hazards.base import Facts
from onnxperf.records.advice import Hazard, Trial
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count, grouped, share_percent

_SUFFIX = "executionprovider"


def find(facts: Facts) -> Iterator[Hazard]:
    """Nodes whose provider differs from the session's; each may copy its tensors back and forth."""
    wanted = _short(facts.session.provider)
    nodes = [node for node in facts.profile.nodes if node.provider and _short(node.provider) != wanted]
    if not nodes:
        return
    share = facts.share_of(nodes)
    operators = [
        f"{name_of(name)} ({grouped(number)})" for name, number in Counter(each.op_name for each in nodes).items()
    ]
    elsewhere = first_of(sorted({name_of(node.provider) for node in nodes}))
    verb = "runs" if len(nodes) == 1 else "run"
    which = f"{count(len(nodes), 'node')} of {grouped(len(facts.profile.nodes))} {verb}"
    trials = (Trial(name="provider=cpu", settings={"provider": "cpu"}),) if wanted != "cpu" else ()
    yield Hazard(
        kind="other-provider",
        title="another provider",
        evidence=f"{which} on {elsewhere} instead of {name_of(facts.session.provider)} ({share_percent(share)} of an "
        f"inference): {first_of(operators)}",
        remedy="run the whole model on one provider, or replace operators that the provider does not support",
        nodes=tuple(node.name for node in nodes),
        share=share,
        trials=trials,
    )


def _short(provider: str) -> str:
    return provider.lower().removesuffix(_SUFFIX)
