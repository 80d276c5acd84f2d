"""One comparison of two amounts, in which a difference is told from noise."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from onnxperf.records.numbers import Amount, Count

Verdict = Literal["baseline", "faster", "slower", "equivalent", "undecided"]
Unit = Literal["launch", "set-up", "round"]
"""What an interval rests on: processes of their own, sessions of their own, or rounds where there are few of either."""
_OPPOSITE: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}


class Comparison(Struct, frozen=True, kw_only=True):
    """How much less of something (time, memory) one side takes than the other, and how sure that is."""

    ratio: Amount | None = None
    """Before / after: above 1, the second takes less."""
    low: Amount | None = None
    """Lower end of its interval, or of its range."""
    high: Amount | None = None
    """Upper end of that."""
    verdict: Verdict | None = None
    """What the interval says; `faster` stands for less, whatever is compared."""
    reason: str = ""
    """Why it is undecided, or what weakens it."""
    before: Amount | None = None
    """The first side: nanoseconds or bytes."""
    after: Amount | None = None
    """The second side."""
    unit: Unit | None = None
    """What the interval rests on."""
    units: Count | None = None
    """How many of them."""

    def inverse(self) -> Comparison:
        """The same seen from the other side: after / before, above 1 takes more."""
        ratio, low, high = (1 / each if each else None for each in (self.ratio, self.high, self.low))
        verdict = None if self.verdict is None else _OPPOSITE.get(self.verdict, self.verdict)
        return Comparison(
            ratio=ratio,
            low=low,
            high=high,
            verdict=verdict,
            reason=self.reason,
            before=self.after,
            after=self.before,
            unit=self.unit,
            units=self.units,
        )

    def named(self, name: str) -> dict[str, Any]:
        """Ratio and interval as records spell them flat: `speedup`, `speedup_low`, `speedup_high`."""
        return {name: self.ratio, f"{name}_low": self.low, f"{name}_high": self.high}

    @classmethod
    def spelled(cls, record: Struct, name: str) -> Comparison:
        """The comparison that a record spells flat under this name."""
        fields: dict[str, Any] = {each: getattr(record, each, None) for each in ("verdict", "unit", "units")}
        ends = {"low": getattr(record, f"{name}_low"), "high": getattr(record, f"{name}_high")}
        return cls(ratio=getattr(record, name), **ends, **fields, reason=getattr(record, "reason", ""))
