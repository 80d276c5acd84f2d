"""A comparison of two amounts that separates differences from noise."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from onnxperf.records.numbers import Amount, Count

Verdict = Literal["baseline", "faster", "slower", "equivalent", "undecided"]
Unit = Literal["launch", "set-up", "round"]
"""Sampling unit of an interval: separate processes, separate sessions, or rounds if there are few of either."""
_OPPOSITE: dict[Verdict, Verdict] = {"faster": "slower", "slower": "faster"}


class Comparison(Struct, frozen=True, kw_only=True):
    """How much less of a resource (time, memory) one side takes than the other, and with what certainty."""

    ratio: Amount | None = None
    """Before / after; above 1, the second side takes less."""
    low: Amount | None = None
    """Lower end of the confidence interval or range."""
    high: Amount | None = None
    """Upper end of the confidence interval or range."""
    verdict: Verdict | None = None
    """Verdict derived from the interval; `faster` means less, also for memory."""
    reason: str = ""
    """Why the verdict is undecided or weaker."""
    before: Amount | None = None
    """Amount of the first side: nanoseconds or bytes."""
    after: Amount | None = None
    """Amount of the second side."""
    unit: Unit | None = None
    """Sampling unit of the interval."""
    units: Count | None = None
    """Number of these units."""

    def inverse(self) -> Comparison:
        """The same comparison seen from the other side: after / before, above 1 takes more."""
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
        """Ratio and interval as flat record fields: `speedup`, `speedup_low`, `speedup_high`."""
        return {name: self.ratio, f"{name}_low": self.low, f"{name}_high": self.high}

    @classmethod
    def spelled(cls, record: Struct, name: str) -> Comparison:
        """The comparison stored in a record's flat fields of this name."""
        fields: dict[str, Any] = {each: getattr(record, each, None) for each in ("verdict", "unit", "units")}
        ends = {"low": getattr(record, f"{name}_low"), "high": getattr(record, f"{name}_high")}
        return cls(ratio=getattr(record, name), **ends, **fields, reason=getattr(record, "reason", ""))
