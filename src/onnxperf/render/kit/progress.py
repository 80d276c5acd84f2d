"""A progress bar that never disturbs what is measured."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, RenderableType

from onnxperf.render.kit.pace import Pace
from onnxperf.wording.names import visible

if TYPE_CHECKING:
    from onnxperf.render.kit.progress_bar import Bar

_PROGRESS_DELAY = 1.0
_PROGRESS_INTERVAL = 0.1


class Progress:
    """A bar on a terminal's stderr, drawn only when `update` is called, only after `delay` seconds, gone at the end.

    No thread redraws it: a redraw during a timed block would disturb what is measured.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        enabled: bool = True,
        delay: float = _PROGRESS_DELAY,
    ) -> None:
        stream = stream or sys.stderr
        self._clock = clock
        self._console = Console(file=stream)
        self._visible = enabled and stream.isatty() and not self._console.is_dumb_terminal
        self._bar: Bar | None = None
        self._pace = Pace()
        self._delay = delay
        self._next_draw = clock() + delay

    def __enter__(self) -> Self:
        """Begin to wait for the time that must pass before anything is drawn."""
        self._next_draw = self._clock() + self._delay
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
        if not self._visible or now < self._next_draw:
            return
        self._next_draw = now + _PROGRESS_INTERVAL
        shown = visible(text, self._console.encoding)
        with self._while_there_is_a_terminal():
            bar = self._shown_bar()
            bar.update(bar.task_ids[0], completed=min(max(done, 0.0), 1.0), description=shown, left=self._pace.left())
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

    @contextlib.contextmanager
    def _while_there_is_a_terminal(self) -> Iterator[None]:
        try:
            yield
        except OSError:  # it is gone; the measurement continues
            self._visible = False

    def _shown_bar(self) -> Bar:
        if self._bar is None:
            from onnxperf.render.kit.progress_bar import start_bar  # most commands are over before a bar is due

            self._bar = start_bar(self._console, self._clock)
        return self._bar
