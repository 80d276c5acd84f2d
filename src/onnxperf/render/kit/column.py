"""Columns of tables: where their values come from, how a screen shows them and what files hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import Struct

from onnxperf.render.kit.figure import Figure, change_figure, share_figure
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import (
    NOTHING,
    duration,
    exact,
    factor,
    grouped,
    in_megabytes,
    interval,
    mean_count,
    microseconds,
    per_second,
    percent,
    ratio,
    significant,
    size,
)

R = TypeVar("R")

FILES_ONLY = 1_000_000
"""Width of a column that no screen shows."""
Kind = Literal["text", "number", "whole", "flag", "moment"]


class Format(NamedTuple):
    """How values of one kind are shown on a screen, and what they are in files."""

    text: Callable[[Any], str]
    """A value as a person reads it."""
    kind: Kind = "number"
    """Its type in DataFrames and files; words start at the left, numbers end at the right."""
    excel: str = "General"
    """Its number format in a spreadsheet, with the unit."""
    parts: Sequence[str] = ()
    """Suffixes of its keys in files, if a value is a tuple that needs several columns."""

    def shown(self, value: Any) -> str:
        """A value as a screen shows it: a dash for a number that is not known, nothing for a missing text."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return "" if self.kind in ("text", "flag") else NOTHING
        return self.text(value)


TEXT = Format(visible, "text")
NAME = Format(name_of, "text")
FLAG = Format(lambda value: "yes" if value else "no", "flag")
MOMENT = Format(str, "moment")
NUMBER = Format(significant, excel="0.00#")
WHOLE = Format(grouped, "whole", "#,##0")
MEAN_COUNT = Format(mean_count, excel="#,##0.##")
NS = Format(duration, excel='#,##0.0 "ns"')
WHOLE_NS = Format(duration, "whole", '#,##0 "ns"')
US = Format(microseconds, excel='#,##0.00 "µs"')
BYTES = Format(size, "whole", '#,##0 "B"')
MB = Format(in_megabytes, "whole", '#,##0 "B"')
RATIO = Format(ratio, excel='0.000"×"')
FACTOR = Format(factor, excel="0.000")
EXACT = Format(exact, excel="0.000")
SHARE = Format(percent, excel="0.0%")
RATE = Format(per_second, excel="#,##0.0")
INTERVAL = Format(lambda ends: interval(*ends), excel="0.000", parts=("_low", "_high"))
"""A pair of ends, or None."""

_BY_ENDING = {"_ns": NS, "_us": US, "_bytes": BYTES, "share": SHARE, "ratio": RATIO, "speedup": RATIO}


class Cell(NamedTuple):
    """What a screen shows of one value, the value to sort by, and its style."""

    text: str
    value: Any = None
    style: str = ""
    figure: Figure = Figure()
    """What is drawn in place of the text where that is possible."""


class Column(NamedTuple, Generic[R]):
    """One column of every form of a table: screens, HTML, Markdown, DataFrame, CSV, Excel and Parquet."""

    key: str
    """Its name in DataFrames and files; empty for a column that only screens show."""
    heading: str
    """Its name on screens."""
    value: Callable[[R], Any]
    """Its value in a row; None if there is none."""
    format: Format = TEXT
    width: int = 0
    """From which width of a console on it is shown; among those that still lack room, the widest go first."""
    style: Callable[[R], str] | str = ""
    """Styles of its cells: bold, dim, red, green, yellow, cyan."""
    text: Callable[[R], str] | None = None
    """What screens show in place of the formatted value, such as an indented name."""
    room: int = 0
    """Cells at least as wide as this may lose their middle; 0: they never do."""
    cut: bool = False
    """Long cells lose their end instead of their middle: sentences; goes with `room`."""
    folds: bool = False
    """Long cells continue in the lines below; goes with `room`."""
    untitled: bool = False
    """Terminals leave out its heading: its cells explain themselves."""
    figure: Callable[[R], Figure] | None = None
    """A graphic in its cells: pages draw it, screens show it as signs of equal width."""
    breaks: bool = False
    """A table too wide for a console may continue below from here, with the columns before the first such one."""

    @property
    def left(self) -> bool:
        """Whether its cells start at the left."""
        return self.figure is not None or self.format.kind in ("text", "flag")

    @property
    def file_keys(self) -> list[str]:
        """Its names in files."""
        return [self.key + part for part in self.format.parts or ("",)] if self.key else []

    def cell(self, row: R) -> Cell:
        """What a screen shows in a row."""
        value = self.value(row)
        style = self.style if isinstance(self.style, str) else self.style(row)
        if self.figure is not None:
            figure = self.figure(row)
            return Cell(figure.text, value, style, figure)
        return Cell(self.format.shown(value) if self.text is None else self.text(row), value, style)

    def of(self, inner: Callable[[Any], R]) -> Column[Any]:
        """The same column for rows that contain what it reads."""
        read, style, text, figure = self.value, self.style, self.text, self.figure
        return self._replace(
            value=lambda row: read(inner(row)),
            style=style if isinstance(style, str) else lambda row: style(inner(row)),
            text=None if text is None else lambda row: text(inner(row)),
            figure=None if figure is None else lambda row: figure(inner(row)),
        )


def for_files(key: str, value: Callable[[R], Any], format: Format = TEXT) -> Column[R]:
    """A column that only files have."""
    return Column(key, "", value, format, FILES_ONLY)


def for_screens(heading: str, value: Callable[[R], Any], format: Format = TEXT, **more: Any) -> Column[R]:
    """A column that no file has."""
    return Column("", heading, value, format, **more)


def bar_column(value: Callable[[R], float | None], rows: Iterable[R], style: str = "cyan") -> Column[R]:
    """Amounts as bars, the longest for the largest of these rows."""
    part = _parts_of(map(value, rows))
    return for_screens("bar", value, NUMBER, figure=lambda row: share_figure(0.0, part(value(row))), **_drawn(style))


def change_column(
    before: Callable[[R], float | None], after: Callable[[R], float | None], rows: Sequence[R], style: str = "cyan"
) -> Column[R]:
    """Two amounts as one bar: what is kept, and what is gone or added."""
    part = _parts_of(amount(row) for row in rows for amount in (before, after))
    return for_screens(
        "change",
        lambda row: part(after(row)) - part(before(row)),
        NUMBER,
        figure=lambda row: change_figure(part(before(row)), part(after(row))),
        **_drawn(style),
    )


def _parts_of(amounts: Iterable[float | None]) -> Callable[[float | None], float]:
    """Shares of the largest of these amounts."""
    most = max((each for each in amounts if each is not None and math.isfinite(each)), default=0.0)
    return lambda amount: min(max(amount, 0.0) / most, 1.0) if amount and most > 0 else 0.0


def _drawn(style: str) -> dict[str, Any]:
    return {"width": 100, "untitled": True, "style": style}


def field_columns(
    kind: type[Struct], names: Iterable[str] = (), formats: dict[str, Format] | None = None
) -> list[Column[Any]]:
    """Columns of files for fields of a record, all or those named; suffixes of names give units and types."""
    known = {field.name: field for field in _fields(kind)}
    chosen = list(names) or list(known)
    return [
        for_files(name, _reader(name), (formats or {}).get(name) or _format(name, known[name].type)) for name in chosen
    ]


def _reader(name: str) -> Callable[[Any], Any]:
    return lambda row: getattr(row, name)


@cache
def _fields(kind: type[Struct]) -> Sequence[Any]:
    from msgspec.inspect import StructType, type_info

    described = type_info(kind)
    if not isinstance(described, StructType):
        raise AssertionError(f"{kind} is not a record")
    return described.fields


def _format(name: str, described: Any) -> Format:
    from msgspec.inspect import BoolType, FloatType, IntType, UnionType

    several = described.types if isinstance(described, UnionType) else (described,)
    types = {type(each) for each in several}
    if BoolType in types:
        return FLAG
    if not types & {IntType, FloatType}:
        return TEXT._replace(text=lambda value: visible(str(value)))
    found = next((each for ending, each in _BY_ENDING.items() if name.endswith(ending)), NUMBER)
    return found._replace(kind="whole") if FloatType not in types else found._replace(kind="number")
