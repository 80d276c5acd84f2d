"""What sampling the stack found: a view on its record that makes trees, tables, charts and files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from onnxperf.analyze.stack import Sample, kind_of
from onnxperf.errors import BadOption
from onnxperf.records.stack import Stack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from pyinstrument.session import Session

SUFFIXES = (".txt", ".html", ".json", ".svg", ".png", ".csv")


class StackResult:
    """What `onnxperf.stack` returns; `record` holds the frames and their times."""

    def __init__(
        self,
        record: Stack,
        session: dict[str, Any],
        samples: Sequence[Sample] = (),
        allocation_page: str | None = None,
    ) -> None:
        self.record = record
        self.samples = samples
        self.allocation_page = allocation_page
        self._data = session

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

    @cached_property
    def session(self) -> Session:
        """pyinstrument's own session."""
        from onnxperf.render.stack.stack import session_of

        return session_of(self._data)

    def to_df(self) -> DataFrame:
        """One row per frame of the tree, every frame behind its caller."""
        from pandas import DataFrame

        return DataFrame(msgspec.to_builtins(self.record.frames))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The functions that take the most time themselves."""
        from onnxperf.render.stack.stack_chart import stack_plot

        return stack_plot(self.record, ax)

    def text(self, everything: bool = False) -> str:
        """The tree as pyinstrument prints it; library frames are folded unless `everything` is wanted."""
        from onnxperf.render.stack.stack import tree_text

        return tree_text(self.session, everything)

    def html(self) -> str:
        """pyinstrument's interactive page; memray's is in `allocation_page`."""
        from onnxperf.render.stack.stack import page_html

        return page_html(self.session)

    def speedscope(self) -> str:
        """For speedscope.app: the samples of py-spy where native frames were asked for, or the tree."""
        from onnxperf.render.stack import flame
        from onnxperf.render.stack.stack import speedscope_json

        return flame.speedscope(self.samples, self._title) if self.samples else speedscope_json(self.session)

    def flame(self) -> str:
        """The flame graph of compiled and Python frames, as SVG."""
        from onnxperf.render.stack.flame import flame_svg

        if not self.samples:
            raise BadOption("a flame graph needs native frames (--native)")
        return flame_svg(self.samples, self._title, kind_of)

    def to_json(self) -> str:
        """The whole record."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def save(self, path: str | Path) -> None:
        """Write .txt, .json (speedscope), .csv, the chart (.png), the flame graph (.svg), or a page (.html).

        The page is memray's where allocations were asked for, pyinstrument's otherwise.
        """
        from onnxperf.render.kit import chart as figures
        from onnxperf.render.kit import frames as tables
        from onnxperf.render.kit.old_export import write

        path = Path(path)
        match path.suffix.lower():
            case ".txt":
                write(path, f"{self.text()}\n\n{self.answer}\n".encode())
            case ".html":
                write(path, (self.allocation_page or self.html()).encode())
            case ".json":
                write(path, self.speedscope().encode())
            case ".csv":
                tables.write_table(self.to_df(), path)
            case ".png":
                figures.save_figure(figures.figure_of(self.plot()), path)
            case ".svg":
                write(path, self.flame().encode())
            case suffix:
                raise BadOption.unknown("kind of file", suffix or path.name, SUFFIXES)

    @property
    def _title(self) -> str:
        return f"{self.record.name}, {self.record.runtime}"

    def __repr__(self) -> str:
        """The tree and the answer, without colours."""
        return f"{self.text()}\n\n{self.answer}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(repr(self))}</pre>"
