"""How far a command is, on its stderr: a bar on a terminal, a line every 30 s elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, RenderableType

from onnxperf.render.kit.pace import Pace
from onnxperf.wording.names import cut, visible
from onnxperf.wording.numbers import whole_percent

if TYPE_CHECKING:
    from onnxperf.render.kit.progress_bar import Bar

_PROGRESS_DELAY = 1.0
_PROGRESS_INTERVAL = 0.1
_LINE_INTERVAL = 30.0
"""Seconds between two lines where no bar can be drawn: for logs of CI."""


class Progress:
    """A bar on a terminal's stderr, drawn only when `update` is called, only after `delay` seconds, gone at the end.

    No thread redraws it: a redraw during a timed block would disturb what is measured. A titled one is drawn at once,
    and without a terminal it is a line every 30 s.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        enabled: bool = True,
        delay: float = _PROGRESS_DELAY,
        title: str = "",
    ) -> None:
        stream = stream or sys.stderr
        self._clock = clock
        self._console = Console(file=stream)
        self._visible = enabled and stream.isatty() and not self._console.is_dumb_terminal
        self._has_lines = enabled and bool(title) and not self._visible
        self._title = visible(title, self._console.encoding)
        self._bar: Bar | None = None
        self._pace = Pace()
        self._delay = delay
        self._next_draw = self._next_line = clock()

    def __enter__(self) -> Self:
        """Draw the title and an empty bar, or begin to wait for the time that must pass before anything is drawn."""
        now = self._clock()
        self._next_draw, self._next_line = now + self._delay, now + _LINE_INTERVAL
        if self._title:
            self._next_draw = now
            self.update(0.0, "starting")
        return self

    def __exit__(self, *_: object) -> None:
        """Wipe the bar and show the cursor again."""
        if self._bar is not None:
            with contextlib.suppress(OSError):  # its terminal is gone; what was measured is not
                self._bar.stop()
            self._bar = None

    def update(self, done: float, text: str) -> None:
        """Show that this share (0 to 1) is done, and what is going on."""
        now = self._clock()
        self._pace.note(done, now)
        shown = visible(text, self._console.encoding)
        if self._has_lines and now >= self._next_line:
            self._next_line = now + _LINE_INTERVAL
            self._print_line(done, shown)
        if not self._visible or now < self._next_draw:
            return
        self._next_draw = now + _PROGRESS_INTERVAL
        with self._while_there_is_a_terminal():
            bar = self._shown_bar()
            words = " · ".join(filter(None, [self._pace.left(), shown]))
            bar.update(bar.task_ids[0], completed=min(max(done, 0.0), 1.0), description=words)
            bar.refresh()

    __call__ = update

    def show(self, make: Callable[[Console], RenderableType]) -> None:
        """Draw something above the bar from now on: what is known so far."""
        if not self._visible:
            return
        with self._while_there_is_a_terminal():
            bar = self._shown_bar()
            bar.above = make(self._console)
            bar.refresh()

    def _print_line(self, done: float, text: str) -> None:
        parts = [self._title, whole_percent(min(max(done, 0.0), 1.0)), self._pace.left(), text]
        with contextlib.suppress(OSError):  # nobody reads it
            print(" · ".join(filter(None, parts)), file=self._console.file, flush=True)

    @contextlib.contextmanager
    def _while_there_is_a_terminal(self) -> Iterator[None]:
        try:
            yield
        except OSError:  # it is gone; the measurement continues
            self._visible = False

    def _shown_bar(self) -> Bar:
        if self._bar is None:
            from onnxperf.render.kit.progress_bar import start_bar  # most commands are over before a bar is due

            self._bar = start_bar(self._console, self._clock, cut(self._title, self._console.width - 1, "…"))
        return self._bar
