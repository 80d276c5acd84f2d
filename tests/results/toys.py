"""A record and its result that show what every result gets from the base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from onnxperf.records.runs import RunStatus
from onnxperf.render.kit import old_chart as chart
from onnxperf.render.kit.old_table import plain_table
from onnxperf.render.kit.page import Heading, Page, closing
from onnxperf.results.old_base import OldResult, struct_frame
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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


def toy_plot(record: Toy, ax: Axes | None = None) -> Any:
    """A bar per part."""
    ax = ax if ax is not None else chart.new_figure(4, 3).subplots()
    ax.bar([part.name for part in record.parts], [part.size_bytes or 0 for part in record.parts])
    return ax


class ToyResult(OldResult[Toy]):
    """Two tables, a chart, a page and a kind of file of its own."""

    kind = "toy"
    tables: ClassVar = {
        "parts": lambda self: struct_frame(self.record.parts, Part),
        "names": lambda self: struct_frame(self.record.parts, Part)[["name"]],
    }
    charts: ClassVar = {"sizes": toy_plot}
    own_formats: ClassVar = {".toy": Format("the answer", lambda self, _table: self.answer.encode())}

    def page(self) -> Page:
        """The names of the parts."""
        rows = [[part.name] for part in self.record.parts]
        return [Heading("toy"), plain_table(["part"], rows), *closing(self.answer)]

    @property
    def has_answer(self) -> bool:
        """Whether it decided."""
        return self.record.decided


class Plain(Struct, frozen=True):
    """A record without tables."""

    answer: str = ""


class PlainResult(OldResult[Plain]):
    """A page, and nothing else."""

    kind = "plain"

    def page(self) -> Page:
        """The answer."""
        return closing(self.record.answer)
