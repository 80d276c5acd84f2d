"""What sampling the stack found: a view on its record that makes trees, tables, charts and files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from onnxperf.analyze.trace.stack import Sample, functions, kind_of, parts
from onnxperf.errors import BadOption
from onnxperf.records.stack import Stack
from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.console import page_text
from onnxperf.render.kit.page import Page
from onnxperf.render.stack.allocations import allocations_table
from onnxperf.render.stack.flame import NativeFrame, NativeSample, native_charts, speedscope, tree_charts
from onnxperf.render.stack.page import TOP, self_charts, stack_page
from onnxperf.render.stack.tables import frames_table, functions_table, native_table, tree_functions_table
from onnxperf.render.stack.tree import session_html, session_of, session_speedscope, tree_part, tree_text
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

if TYPE_CHECKING:
    from pyinstrument.session import Session

_MEMRAY, _NATIVE = ".memray.html", "native"
NEEDED = {_MEMRAY: "allocations", "allocations": "allocations", _NATIVE: "native"}
"""Options without which there is nothing to write into such a file, or nothing in such a table or chart."""

SHOW = Show(
    Stack,
    "stack",
    lambda record: stack_page(record, functions(record.frames)),
    tables={
        "functions": functions_table,
        "tree_functions": lambda record: tree_functions_table(record, functions(record.frames)),
        "frames": frames_table,
        "native": native_table,
        "allocations": allocations_table,
    },
    charts={"functions": self_charts, "flame": tree_charts, _NATIVE: lambda record: native_charts(record, ())},
    own={
        ".txt": Format("the tree, the tables and the answer", lambda result, _: result.printed().encode()),
        ".pyinstrument.html": Format("pyinstrument's own page", lambda result, _: result.html().encode()),
        _MEMRAY: Format("memray's flame graph of allocations", lambda result, _: result.memray().encode()),
        ".speedscope.json": Format("the samples for speedscope.app", lambda result, _: result.speedscope().encode()),
    },
)


class StackResult(Result[Stack]):
    """What `onnxperf.stack` returns; `record` holds the frames and their times, and all else is not kept in a store."""

    show = SHOW

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

    def page(self, everything: bool = False, top: int = TOP) -> Page:
        """The tree, the first functions and the answer; if `everything` is wanted, nothing is folded or left out."""
        tree = tree_part(self.session, everything) if self._data is not None else None
        rows = sys.maxsize if everything else top
        return stack_page(self.record, functions(self.record.frames), tree, rows, self._native_samples())

    def charts(self, name: str | None = None) -> Sequence[Chart]:
        """The panels of a chart; the first is the flame graph of native frames if these were requested."""
        if name == _NATIVE and not self.samples:
            raise BadOption("the flame graph of compiled frames needs samples with these; measure with `native`")
        if self.samples and name in (None, _NATIVE):
            return native_charts(self.record, self._native_samples())
        return super().charts(name)

    def _native_samples(self) -> list[NativeSample]:
        """The samples with what is known of each frame."""
        names = dict.fromkeys(name for stack, _ in self.samples for name in stack)
        frames = {name: NativeFrame(*parts(name), kind_of(name)) for name in names}
        return [([frames[name] for name in stack], times) for stack, times in self.samples]

    def printed(self) -> str:
        """The whole page as text, for results that still have their tree."""
        return page_text(stack_page(self.record, (), tree_part(self.session))) + "\n"

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

    def speedscope(self) -> str:
        """For speedscope.app: the samples of py-spy if native frames were requested, or the tree."""
        title = ", ".join(filter(None, [self.record.name, self.record.runtime, self.record.call]))
        return speedscope(self.samples, title) if self.samples else session_speedscope(self.session)
