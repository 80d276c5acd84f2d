"""A record and its result that show what every result gets from the base."""

from __future__ import annotations

from msgspec import Struct

from onnxperf.records.runs import RunStatus
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import Chart, size_unit
from onnxperf.render.kit.column import BYTES, NAME, Column
from onnxperf.render.kit.page import Heading, Page, Section, answered
from onnxperf.render.kit.table import Footer, Table
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format


class Part(Struct, frozen=True):
    """A row of the toy."""

    name: str
    size_bytes: int | None = None


class Toy(Struct, frozen=True):
    """What a toy found."""

    parts: tuple[Part, ...] = (Part("wheel", 4), Part("axle"))
    status: RunStatus = "ok"
    interrupted: bool = False
    answer: str = "It rolls."
    command: str = ""
    decided: bool = True


PART: Column[Part] = Column("name", "part", lambda row: row.name, NAME)
SIZE: Column[Part] = Column("size_bytes", "size", lambda row: row.size_bytes, BYTES)


def parts_table(record: Toy) -> Table[Part]:
    """A row per part, and what all of them weigh."""
    total = sum(part.size_bytes or 0 for part in record.parts)
    return Table([PART, SIZE], record.parts, footers=[Footer({"": "total", "size_bytes": total})])


def sizes_charts(record: Toy) -> list[Chart]:
    """A bar per part."""
    if not record.parts:
        return []
    sizes = [float(part.size_bytes or 0) for part in record.parts]
    series = BarSeries("size", sizes, [f"{size:.0f} B" for size in sizes])
    picture = bars([part.name for part in record.parts], [series], "size", size_unit(sizes))
    return [bars_chart("Sizes", f"{len(sizes)} parts.", picture, parts_table(record))]


def toy_page(record: Toy) -> Page:
    """The sizes of the parts."""
    return [Heading("toy"), Section("Parts", sizes_charts(record)), *answered(record.answer)]


TOY = Show(
    Toy,
    "toy",
    toy_page,
    tables={"parts": parts_table, "names": lambda record: Table([PART], record.parts)},
    charts={"sizes": sizes_charts},
    own={".toy": Format("the answer", lambda result, _: result.answer.encode())},
)


class ToyResult(Result[Toy]):
    """Two tables, a chart, a page and a kind of file of its own."""

    show = TOY

    @property
    def has_answer(self) -> bool:
        """Whether it decided."""
        return self.record.decided


class Plain(Struct, frozen=True):
    """A record without tables."""

    answer: str = ""


PLAIN = Show(Plain, "plain", lambda record: answered(record.answer))


class PlainResult(Result[Plain]):
    """A page, and nothing else."""

    show = PLAIN
