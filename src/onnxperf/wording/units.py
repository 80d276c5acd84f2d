"""What intervals rest on, as people read it."""

from __future__ import annotations

from collections.abc import Iterable

from onnxperf.wording.numbers import count

_SEVERAL = {"launch": "launches", "set-up": "sessions", "round": "rounds"}
_ONE = {"set-up": "session"}


def units_text(found: Iterable[tuple[str | None, int | None]]) -> str:
    """Kinds and numbers of units as `16 launches` or `8 to 11 launches`; empty if unknown or of different kinds."""
    several = list(found)
    kinds, numbers = {kind for kind, _ in several}, [number for _, number in several if number]
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None or len(numbers) < len(several):
        return ""
    least = f"{min(numbers)} to " if min(numbers) < max(numbers) else ""
    return f"{least}{count(max(numbers), _ONE.get(kind, kind), _SEVERAL[kind])}"
