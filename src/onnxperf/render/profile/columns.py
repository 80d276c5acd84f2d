"""The columns of a profile's tables: what has a time, its share, its limit; the same on screens, pages and in files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from onnxperf.records.headroom import Bound, Limit
from onnxperf.records.profile import (
    DOMINATING_OVERHEAD,
    NodeTime,
    Profile,
    Times,
    module_link,
    operator_link,
    sum_of,
)
from onnxperf.render.kit.column import (
    FILES_ONLY,
    MEAN_COUNT,
    RATE,
    RATIO,
    SHARE,
    TEXT,
    US,
    WHOLE,
    Column,
    Format,
    for_files,
    for_screens,
)
from onnxperf.render.kit.figure import share_figure
from onnxperf.render.kit.table import Footer
from onnxperf.wording.numbers import NOTHING, count, grouped, magnitude, microseconds, ratio, size

T = TypeVar("T", bound=Times)
Kind = Literal["operators", "nodes", "modules", "sources"]

WHOLE_US = US._replace(kind="whole", excel='#,##0 "µs"')
"""Times as a trace has them."""
FLOP = Format(magnitude, excel="#,##0")
AMOUNT_BYTES = Format(size, excel='#,##0 "B"')
"""A mean of sizes is not always whole."""
BOUNDS: dict[Bound, str] = {
    "compute": "arithmetic",
    "memory": "memory",
    "nothing": "",
    "unknown": "not known",
    "disturbed": "not judged",
}
"""What limits a node, in words."""
_FAR = 100
"""Times its limit from which on a node only pays for being called."""


class Timed(NamedTuple, Generic[T]):
    """A row: what has a time, and how it is shown."""

    timed: T
    whole_us: float
    """Time in all nodes, of which its own is a part."""
    limit: Limit | None = None
    key: str = ""
    """What it stands for elsewhere on a page."""
    name: str = ""
    """Its name on screens, indented below what it is in."""
    before: float = 0.0
    """Share of the rows above."""

    @property
    def share(self) -> float | None:
        """Its part of the whole; None of nothing."""
        return self.timed.usual_us / self.whole_us if self.whole_us else None

    def mean(self, amount: float) -> float:
        """What was added over all iterations, per iteration."""
        return amount / max(len(self.timed.self_us), 1)


def rows_of(profile: Profile, kind: Kind) -> list[Timed[Any]]:
    """All rows of one kind in the order of the record, with their limits if these were measured."""
    timed: Sequence[Any] = getattr(profile, kind)
    limits = getattr(profile.headroom, kind) if profile.headroom is not None else [None] * len(timed)
    keys: dict[Kind, Callable[[], Iterable[str]]] = {
        "operators": lambda: (operator_link(each.op_name) for each in timed),
        "nodes": lambda: profile.node_links,
        "modules": lambda: (module_link(each.module) for each in timed),
        "sources": lambda: (each.group.link for each in timed),
    }
    whole = profile.usual_nodes_us
    rows = zip(timed, limits, keys[kind](), strict=True)
    return [Timed(each, whole, limit, key) for each, limit, key in rows]


# ---------------------------------------------------------------- times


def share_heading(overhead: float | None) -> str:
    """Shares of a time that is mostly the profiler's are not called shares of the model."""
    return "profiled share" if (overhead or 0.0) >= DOMINATING_OVERHEAD else "share"


def time_column(heading: str = "time", width: int = 0) -> Column[Timed[Any]]:
    """The time in the usual iteration, without what ran inside."""
    return Column("usual_us", heading, lambda row: row.timed.usual_us, US, width)


def total_column(heading: str, text: Callable[[Timed[Any]], str] | None = None) -> Column[Timed[Any]]:
    """The same with what ran inside."""
    return Column("usual_total_us", heading, lambda row: row.timed.usual_total_us, US, 60, text=text)


def share_column(profile: Profile) -> Column[Timed[Any]]:
    """The part of the time in all nodes."""
    return Column("share", share_heading(profile.overhead), lambda row: row.share, SHARE)


def bar_column() -> Column[Timed[Any]]:
    """The share as a bar that starts where the one above ends."""
    return for_screens(
        "cumulative",
        lambda row: row.before + (row.share or 0.0),
        SHARE,
        width=100,
        style="cyan",
        figure=lambda row: share_figure(row.before, row.share or 0.0),
    )


def calls_column() -> Column[Timed[Any]]:
    """How often it runs in an inference."""
    return for_screens("calls", lambda row: row.mean(row.timed.calls), MEAN_COUNT, width=60)


def spread_column(width: int) -> Column[Timed[Any]]:
    """The fastest and the slowest iteration, the first left out."""
    return for_screens("spread", _slowest, US, width=width, style="dim", text=lambda row: _spread(row.timed))


def _slowest(row: Timed[Any]) -> int | None:
    return max(row.timed.steady_us, default=None)


def _spread(timed: Times) -> str:
    if len(timed.self_us) < 2:
        return NOTHING
    low, high = microseconds(min(timed.steady_us)), microseconds(max(timed.steady_us))
    if low == high:
        return low
    unit = f" {low.split()[-1]}"
    return f"{low.removesuffix(unit) if high.endswith(unit) else low}…{high}"


def first_column(width: int = FILES_ONLY) -> Column[Timed[Any]]:
    """The first iteration; of only one, a screen has it as the time."""
    return Column(
        "first_us",
        "first",
        lambda row: next(iter(row.timed.self_us), None),
        WHOLE_US,
        width,
        style="dim",
        text=lambda row: microseconds(row.timed.self_us[0]) if len(row.timed.self_us) > 1 else "",
    )


def sum_columns(per_iteration: bool, with_bodies: bool = True, on_devices: bool = False) -> list[Column[Timed[Any]]]:
    """What only files have: sums over all iterations or their means, the fastest and the slowest iteration."""
    bodies = [_sum_column("total_us", lambda timed: sum(timed.total_us), per_iteration)] if with_bodies else []
    return [
        _sum_column("calls", lambda timed: timed.calls, per_iteration, WHOLE),
        _sum_column("self_us", lambda timed: sum(timed.self_us), per_iteration),
        *bodies,
        for_files("min_us", lambda row: min(row.timed.steady_us, default=None), WHOLE_US),
        for_files("max_us", _slowest, WHOLE_US),
        *([_sum_column("kernel_us", lambda timed: timed.kernel_us, per_iteration)] if on_devices else []),
    ]


def _sum_column(
    key: str, value: Callable[[Any], int | None], per_iteration: bool, format: Format = WHOLE_US
) -> Column[Timed[Any]]:
    if not per_iteration:
        return for_files(key, lambda row: value(row.timed), format)

    def mean(row: Timed[Any]) -> float | None:
        amount = value(row.timed)
        return None if amount is None else row.mean(amount)

    return for_files(key, mean, format._replace(kind="number"))


# ---------------------------------------------------------------- limits


def limit_columns(rows: Sequence[Timed[Any]]) -> list[Column[Timed[Any]]]:
    """Work, speed, and what could be won; none if no limits were measured."""
    if not any(row.limit is not None for row in rows):
        return []
    columns: list[Column[Limit]] = [
        Column("flop", "FLOP", lambda limit: limit.flop if limit.counted else None, FLOP, 100, text=_flop),
        Column("moved_bytes", "bytes", lambda limit: limit.moved_bytes, AMOUNT_BYTES, 100, text=_bytes),
        Column("gflop_per_s", "GFLOP/s", lambda limit: limit.gflop_per_s, RATE, 70, text=_gflop),
        Column("gb_per_s", "GB/s", lambda limit: limit.gb_per_s, RATE, 70, text=_gb),
        Column("bound", "limit", lambda limit: limit.bound, TEXT, 80, "dim", lambda limit: BOUNDS[limit.bound]),
        for_files("limit_us", lambda limit: limit.limit_us, US),
        Column("times_limit", "× limit", lambda limit: limit.ratio if limit.is_judged else None, RATIO, text=_of_limit),
        Column("could_win_us", "could win", could_win_us, US),
        Column("flop_per_byte", "FLOP/B", flop_per_byte, RATE, 140),
    ]
    return [column.of(lambda row: row.limit) for column in columns]


def files_only(columns: Iterable[Column[Any]]) -> list[Column[Any]]:
    """The same, which no screen shows."""
    return [column._replace(width=FILES_ONLY) for column in columns if column.key]


def flop_per_byte(limit: Limit) -> float | None:
    """Operations per byte, of what has both."""
    return limit.flop / limit.moved_bytes if limit.counted and limit.flop and limit.moved_bytes else None


def could_win_us(limit: Limit) -> float | None:
    """What could be won at best, of what is judged."""
    return limit.could_win_us if limit.is_judged else None


def could_win_text(limit: Limit) -> str:
    """The same of its time, or why that is not said."""
    of = microseconds(limit.time_us)
    return f"{microseconds(limit.could_win_us)} of {of}" if limit.is_judged else f"{of}, {BOUNDS[limit.bound]}"


def _flop(limit: Limit) -> str:
    has_work = limit.flop > 0 or limit.moved_bytes > 0
    return magnitude(limit.flop) if limit.counted and has_work else NOTHING


def _bytes(limit: Limit) -> str:
    return size(limit.moved_bytes) if limit.flop > 0 or limit.moved_bytes > 0 else NOTHING


def _gflop(limit: Limit) -> str:
    return RATE.shown(limit.gflop_per_s if limit.flop else None)


def _gb(limit: Limit) -> str:
    return RATE.shown(limit.gb_per_s if limit.moved_bytes else None)


def _of_limit(limit: Limit) -> str:
    if limit.ratio is None or not limit.is_judged:
        return NOTHING
    if limit.ratio > _FAR:
        return f"> {grouped(_FAR)}×"
    return "at limit" if limit.ratio <= 1 else ratio(limit.ratio)


# ---------------------------------------------------------------- footers


def others_footer(rows: Sequence[Timed[Any]], words: str = "") -> list[Footer]:
    """What a screen leaves out: how many, their time, their share, and what they could win."""
    if not rows:
        return []
    sums = sums_of(rows)
    kept = {key: sums[key] for key in ("usual_us", "share", "could_win_us")}
    name = f"{grouped(len(rows))} {words}" if words else count(len(rows), "other")
    return [Footer({"": name, **kept}, "dim", in_files=False)]


def total_footer(rows: Sequence[Timed[Any]], per_iteration: bool = False, words: str = "total") -> Footer:
    """The sum of the rows."""
    return Footer({"": words, **sums_of(rows, per_iteration)})


def sums_of(rows: Sequence[Timed[Any]], per_iteration: bool = False) -> dict[str, float | None]:
    """What the columns of these rows add up to; each of them is counted once, without what runs inside."""
    times = [row.timed for row in rows]
    own, kernels = sum(sum(each.self_us) for each in times), [each.kernel_us for each in times if _has_kernel(each)]
    sums: dict[str, float | None] = {
        "calls": sum(each.calls for each in times),
        "self_us": own,
        "total_us": own,
        "kernel_us": sum(kernels) if kernels else None,
    }
    if per_iteration and rows:
        sums = {key: None if amount is None else rows[0].mean(amount) for key, amount in sums.items()}
    usual = sum_of(times)
    share = usual / rows[0].whole_us if rows and rows[0].whole_us else None
    limits = [row.limit for row in rows if row.limit is not None]
    won = [limit.could_win_us for limit in limits if limit.is_judged]
    return sums | {
        "nodes": len(rows),
        "share": share,
        "total_share": share,
        "first_us": sum(each.self_us[0] for each in times if each.self_us),
        "usual_us": usual,
        "usual_total_us": usual,
        "flop": math.fsum(limit.flop for limit in limits if limit.counted),
        "moved_bytes": math.fsum(limit.moved_bytes for limit in limits),
        "limit_us": math.fsum(limit.limit_us for limit in limits),
        "could_win_us": math.fsum(won) if won else None,
    }


def _has_kernel(timed: Times) -> bool:
    return isinstance(timed, NodeTime) and timed.kernel_us is not None
