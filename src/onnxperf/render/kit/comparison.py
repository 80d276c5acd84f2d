"""Comparisons as columns and as rows: the same ratio, interval and verdict wherever two amounts are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from onnxperf.records.comparison import Comparison
from onnxperf.render.kit.column import INTERVAL, NAME, NS, RATIO, TEXT, Column, Format, for_files, for_screens
from onnxperf.render.kit.figure import interval_figures
from onnxperf.render.kit.table import Footer, Table
from onnxperf.wording.numbers import factor, interval, ratio
from onnxperf.wording.verdicts import faced

R = TypeVar("R")

VERDICT_STYLES: Mapping[str, str] = {
    "baseline": "bold",
    **dict.fromkeys(("faster", "gain", "less", "passed", "as before", "kept", "rewritten", "better"), "green"),
    **dict.fromkeys(("chosen", "won", "fastest", "PASS"), "green"),
    **dict.fromkeys(("slower", "more", "failed", "exceeded", "lost", "FAIL"), "red"),
    **dict.fromkeys(("undecided", "trade", "unexplained", "changed", "CANNOT TELL"), "yellow"),
    **dict.fromkeys(("equivalent", "dropped", "no gain", "limit"), "dim"),
}
"""Styles of verdicts and of what features call them."""
STATUS_STYLES: Mapping[str, str] = {
    "ok": "",
    "differs": "yellow",
    "skipped": "dim",
    "pending": "dim",
    "running": "dim",
    **dict.fromkeys(("failed", "timeout", "oom", "crashed"), "red"),
}


class Compared(NamedTuple, Generic[R]):
    """How rows of one kind are read as comparisons: their name, the comparison, and what its verdict is called."""

    name: Callable[[R], str]
    of: Callable[[R], Comparison]
    word: Callable[[R], str] | None = None
    """The verdict in the words of the feature; by default that of the comparison."""
    what: str = "name"
    """Heading and key of the names."""
    key: str = "speedup"
    """Name of the ratio in files, and the start of those of its ends."""
    ratio: str = "speedup"
    """Heading of the ratio."""
    verdict: str = "verdict"
    """Heading and key of the verdict."""
    before: tuple[str, str] | None = None
    after: tuple[str, str] | None = None
    """Keys and headings of both amounts, if these are shown."""
    amount: Format = NS
    """How amounts are shown."""
    amount_text: Callable[[R, float], str] | None = None
    """The same where it differs from row to row."""
    format: Format = RATIO
    more: Sequence[Column[R]] = ()
    """Further columns, behind the verdict."""
    limit: Callable[[R], float | None] | None = None
    """Which ratio is accepted, if rows have limits of their own."""
    axis: str = ""
    """What a chart calls the ratio, such as "new / baseline"; by default its heading."""
    color: Callable[[R], int] | None = None
    """Color of a mark; by default that of its verdict."""
    style: Callable[[R], str] | None = None
    """Style of ratio and verdict; by default that of the verdict."""
    tooltip: Callable[[R], str] | None = None
    """Tooltip of a row, in addition to ratio, verdict and interval."""
    link: Callable[[R], str] | None = None
    """What a mark of a chart stands for elsewhere on a page."""

    def said(self, row: R) -> str:
        """The verdict of a row in words."""
        return self.word(row) if self.word is not None else self.of(row).verdict or ""

    def shown(self, row: R) -> str:
        """The verdict of a row with its sign."""
        return " · ".join(map(faced, self.said(row).split(" · ")))

    def ratio_text(self, row: R) -> str:
        """The ratio of a row, with as many decimals as its interval."""
        found = self.of(row)
        shown = next((each for each in (ratio, factor) if each is self.format.text), None)
        return self.format.shown(found.ratio) if shown is None else shown(found.ratio, ends_of(found))

    def interval_text(self, row: R) -> str:
        """The interval of the ratio, or nothing: a baseline has none."""
        return "" if (ends := ends_of(self.of(row))) is None else interval(*ends)


def ratio_columns(by: Compared[R]) -> list[Column[R]]:
    """The ratio, its interval and the verdict, as every table of comparisons has them."""

    def styled(row: R) -> str:
        return VERDICT_STYLES.get(by.said(row), "")

    style = by.style or styled
    return [
        Column(by.key, by.ratio, lambda row: by.of(row).ratio, by.format, style=style, text=by.ratio_text),
        Column(by.key, "95 % CI", lambda row: ends_of(by.of(row)), INTERVAL, 1, "dim", by.interval_text),
        Column(by.verdict, by.verdict, by.said, TEXT, style=style, room=14, cut=True, text=by.shown, untitled=True),
    ]


def interval_column(by: Compared[R], rows: Sequence[R], effect: float | None = None) -> Column[R]:
    """Intervals as a forest inside the rows: on pages, and on screens with room for it."""
    limit: Callable[[R], float | None] = by.limit or (lambda _row: None)
    figure = interval_figures(map(by.of, rows), map(limit, rows), effect or 0.0)

    def styled(row: R) -> str:
        return VERDICT_STYLES.get(by.said(row), "")

    look: dict[str, Any] = {"width": 100, "untitled": True, "style": by.style or styled}
    return for_screens(
        "interval", lambda row: by.of(row).ratio, RATIO, figure=lambda row: figure(by.of(row), limit(row)), **look
    )


def with_intervals(
    table: Table[Any], by: Compared[Any], rows: Sequence[Any], effect: float | None = None
) -> Table[Any]:
    """The table with these intervals in its rows, unless it has graphics already."""
    if any(column.figure is not None for column in table.columns):
        return table
    return table._replace(columns=[*table.columns, interval_column(by, rows, effect)])


def comparison_columns(by: Compared[R]) -> list[Column[R]]:
    """Name, both amounts, ratio, interval, verdict and what else the feature has; files also have the reason."""
    sides = {"before": by.before, "after": by.after}
    amounts = [
        Column(*named, _amount(by, side), by.amount, 80, text=_amount_text(by, side))
        for side, named in sides.items()
        if named is not None
    ]
    return [
        Column(by.what, by.what, by.name, NAME, room=22, untitled=True),
        *amounts,
        *ratio_columns(by),
        *by.more,
        for_files(f"{by.verdict}_reason", lambda row: by.of(row).reason),
    ]


def comparison_table(
    by: Compared[R], rows: Sequence[R], title: str = "", footers: Sequence[Footer] = (), **more: Any
) -> Table[R]:
    """The one table of comparisons."""
    columns = comparison_columns(by)
    return Table([*columns, interval_column(by, rows)], rows, title, footers=footers, **more)


def ends_of(comparison: Comparison) -> tuple[float, float] | None:
    """Both ends of the interval."""
    low, high = comparison.low, comparison.high
    return None if low is None or high is None else (low, high)


def _amount(by: Compared[R], side: str) -> Callable[[R], float | None]:
    return lambda row: getattr(by.of(row), side)


def _amount_text(by: Compared[R], side: str) -> Callable[[R], str] | None:
    text, amount = by.amount_text, _amount(by, side)
    if text is None:
        return None
    return lambda row: "" if (value := amount(row)) is None else text(row, value)
