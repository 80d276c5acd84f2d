"""Nodes by name: groups of original ones, what became of them, and nodes that two graphs share."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.wording.names import name_of, visible

_MOST_NAMES = 3
"""Nodes that are named of a group."""


def nodes_text(names: Sequence[str], ops: Sequence[str], most: int | None = None) -> str:
    """Nodes as `n3 Conv + n4 Relu`, with names alone where operators are empty."""
    texts = [f"{name_of(name)} {visible(op)}".rstrip() for name, op in zip(names, ops, strict=False)][:most]
    rest = [f"{len(names) - len(texts)} more"] if len(names) > len(texts) else []
    return " + ".join([*texts, *rest])


def became_text(
    names: Sequence[str], ops: Sequence[str], before: Sequence[str], after: Sequence[str], fate: str = "removed"
) -> str:
    """Original nodes and what two sides execute for them: `n3 Conv + n4 Relu → r1_nchwc`.

    A side that executes them as they are is not spelled out, and one that executes nothing has their `fate`.
    """
    text = nodes_text(names, ops, _MOST_NAMES)
    sides = [_executed(side, names, fate) for side in (before, after)]
    if sides[0] == sides[1] or not sides[0]:
        return f"{text} → {sides[1]}" if sides[1] else text
    return f"{text}: {sides[0]} → {sides[1] or 'as written'}"


def _executed(executed: Sequence[str], names: Sequence[str], fate: str) -> str:
    if not executed:
        return f"({fate})"
    return "" if sorted(executed) == sorted(names) else nodes_text(executed, [""] * len(executed), _MOST_NAMES)


def renamed_text(before: str, after: str) -> str:
    """The name of a node on both sides: `n3 → r1_nchwc` if it has two."""
    return " → ".join(name_of(name) for name in dict.fromkeys((before, after)) if name)
