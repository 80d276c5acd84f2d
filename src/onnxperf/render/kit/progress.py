"""A progress bar that never disturbs what is measured."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Self, TextIO

import rich.progress
from rich.console import Console, RenderableType
from rich.table import Column

from onnxperf.wording.names import visible

_PROGRESS_DELAY = 1.0
_PROGRESS_INTERVAL = 0.1


class Progress:
    """A bar on a terminal's stderr, drawn only when `update` is called, only after a second, and gone at the end.

    No thread redraws it: a redraw during a timed block would disturb what is measured.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, enabled: bool = True
    ) -> None:
        stream = stream or sys.stderr
        self._clock = clock
        self._console = Console(file=stream)
        self._visible = enabled and stream.isatty() and not self._console.is_dumb_terminal
        self._bar: _Bar | None = None
        self._next_draw = clock() + _PROGRESS_DELAY

    def __enter__(self) -> Self:
        """Begin to wait for the second that must pass before anything is drawn."""
        self._next_draw = self._clock() + _PROGRESS_DELAY
        return self

    def __exit__(self, *_: object) -> None:
        """Wipe the bar and show the cursor again."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def update(self, done: float, text: str) -> None:
        """Show that this share (0 to 1) is done, and what is going on."""
        now = self._clock()
        if not self._visible or now < self._next_draw:
            return
        self._next_draw = now + _PROGRESS_INTERVAL
        if self._bar is None:
            self._bar = _progress_bar(self._console, self._clock)
        shown = visible(text, self._console.encoding)
        self._bar.update(self._bar.task_ids[0], completed=min(max(done, 0.0), 1.0), description=shown)
        self._bar.refresh()

    __call__ = update

    def show(self, make: Callable[[Console], RenderableType]) -> None:
        """Draw something above the bar from now on: what is known so far."""
        if not self._visible:
            return
        if self._bar is None:
            self._bar = _progress_bar(self._console, self._clock)
        self._bar.above = make(self._console)
        self._bar.refresh()


class _Bar(rich.progress.Progress):
    above: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.above is not None:
            yield self.above
        yield from super().get_renderables()


def _progress_bar(console: Console, clock: Callable[[], float]) -> _Bar:
    bar = _Bar(
        rich.progress.BarColumn(bar_width=24),
        rich.progress.TaskProgressColumn(),
        rich.progress.TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=clock,
    )
    bar.add_task("", total=1.0)
    bar.start()
    return bar
