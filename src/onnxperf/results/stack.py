"""What sampling the stack found: a view on its record that makes trees, tables, charts and files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from onnxperf.analyze.trace.stack import FUNCTION_COLUMNS, Sample, functions, kind_of
from onnxperf.errors import BadOption
from onnxperf.records.stack import FunctionShare, NativeFunction, Stack, StackFrame
from onnxperf.render.kit.console import page_text
from onnxperf.render.kit.page import Page
from onnxperf.render.stack import flame
from onnxperf.render.stack.chart import stack_plot
from onnxperf.render.stack.page import stack_page
from onnxperf.render.stack.tree import session_html, session_of, session_speedscope, tree_part, tree_text
from onnxperf.render.web.old_base import Section
from onnxperf.render.web.sections.stack import stack_sections
from onnxperf.results.old_base import OldResult, frame_of, struct_frame
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyinstrument.session import Session

_FLAME, _MEMRAY = ".svg", ".memray.html"
NEEDED = {_FLAME: "native", _MEMRAY: "allocations"}
"""Options without which there is nothing to write into such files."""


class StackResult(OldResult[Stack]):
    """What `onnxperf.stack` returns; `record` holds the frames and their times, and all else is not kept in a store."""

    tables = {
        "functions": lambda self: _functions_frame(self.record),
        "tree_functions": lambda self: frame_of(functions(self.record.frames), FUNCTION_COLUMNS),
        "frames": lambda self: struct_frame(self.record.frames, StackFrame),
        "native": lambda self: struct_frame(self.record.native, NativeFunction),
    }
    """A row per function, by the samples of the answer; per function of pyinstrument's tree; per frame of the tree,
    every frame behind its caller; per function that py-spy saw."""
    charts = {"self": stack_plot}
    own_formats = {
        ".txt": Format("the tree, the tables and the answer", lambda self, _: self.printed().encode()),
        ".pyinstrument.html": Format("pyinstrument's own page", lambda self, _: self.html().encode()),
        _MEMRAY: Format("memray's flame graph of allocations", lambda self, _: self.memray().encode()),
        ".speedscope.json": Format("the samples for speedscope.app", lambda self, _: self.speedscope().encode()),
        _FLAME: Format("the flame graph of native frames", lambda self, _: self.flame().encode()),
    }

    def __init__(
        self,
        record: Stack,
        session: dict[str, object] | None = None,
        samples: Sequence[Sample] = (),
        allocation_page: str | None = None,
    ) -> None:
        super().__init__(record)
        self.samples = samples
        self.allocation_page = allocation_page
        self._data = session

    @cached_property
    def session(self) -> Session:
        """pyinstrument's own session."""
        if self._data is None:
            raise BadOption("a run from the store has no samples, only their sums; measure it again")
        return session_of(self._data)

    def page(self, everything: bool = False, top: int = 15) -> Page:
        """The tree, the first functions and the answer; if `everything` is wanted, nothing is folded or left out."""
        tree = tree_part(self.session, everything) if self._data is not None else None
        return stack_page(self.record, tree, sys.maxsize if everything else top)

    def printed(self) -> str:
        """The whole page as text, for results that still have their tree."""
        return page_text(stack_page(self.record, tree_part(self.session))) + "\n"

    def text(self, everything: bool = False) -> str:
        """The tree as pyinstrument prints it; library frames are folded unless `everything` is wanted."""
        return tree_text(self.session, everything)

    def html(self) -> str:
        """pyinstrument's interactive page."""
        return session_html(self.session)

    def memray(self) -> str:
        """memray's flame graph of what was held at the peak."""
        if self.allocation_page is None:
            raise BadOption("memray's page needs allocations; measure with `allocations`")
        return self.allocation_page

    def story_sections(self) -> list[Section]:
        """The flame graph, and its functions."""
        return stack_sections(self.record, functions(self.record.frames))

    def speedscope(self) -> str:
        """For speedscope.app: the samples of py-spy if native frames were requested, or the tree."""
        return flame.speedscope(self.samples, self._title) if self.samples else session_speedscope(self.session)

    def flame(self) -> str:
        """The flame graph of compiled and Python frames, as SVG."""
        if not self.samples:
            raise BadOption("a flame graph needs native frames; measure with `native`")
        return flame.flame_svg(self.samples, self._title, kind_of)

    @property
    def _title(self) -> str:
        return ", ".join(filter(None, [self.record.name, self.record.runtime, self.record.call]))


def _functions_frame(record: Stack) -> DataFrame:
    """A row per function: its time in an undisturbed call in nanoseconds, its share, and what that consists of."""
    frame = struct_frame(record.functions, FunctionShare)
    frame.insert(2, "self_ns", frame["share"].astype(float) * record.call_ns)
    return frame
