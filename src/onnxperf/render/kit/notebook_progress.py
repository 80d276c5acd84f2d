"""A progress bar in the output of a notebook's cell, updated in place."""

from __future__ import annotations

import time
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any, Self

from onnxperf.render.kit.pace import Pace
from onnxperf.wording.names import visible
from onnxperf.wording.numbers import whole_percent

_INTERVAL = 0.5
"""Seconds between two drawings: the browser that shows them may run on the machine that is measured."""


class NotebookProgress:
    """A bar that is sent only when `update` is called, only after `delay` seconds, and emptied at the end."""

    def __init__(
        self, delay: float, clock: Callable[[], float] = time.monotonic, display: Callable[..., Any] | None = None
    ) -> None:
        self._clock = clock
        self._display = display
        self._pace = Pace()
        self._delay = delay
        self._next_draw = clock() + delay
        self._shown: Any = None

    def __enter__(self) -> Self:
        """Begin to wait for the time that must pass before anything is shown."""
        self._next_draw = self._clock() + self._delay
        return self

    def __exit__(self, *_: object) -> None:
        """Empty the output."""
        if self._shown is not None:
            self._shown.update({"text/plain": "", "text/html": ""}, raw=True)
            self._shown = None

    def update(self, done: float, text: str) -> None:
        """Show that this share (0 to 1) is done, and what is going on."""
        now = self._clock()
        self._pace.note(done, now)
        if now < self._next_draw:
            return
        self._next_draw = now + _INTERVAL
        bundle = _bundle(min(max(done, 0.0), 1.0), self._pace.left(), visible(text))
        if self._shown is None:
            self._shown = self._new(bundle)
        else:
            self._shown.update(bundle, raw=True)

    __call__ = update

    def _new(self, bundle: dict[str, str]) -> Any:
        display: Callable[..., Any] = self._display or import_module("IPython.display").display
        return display(bundle, raw=True, display_id=True)


def _bundle(done: float, left: str, text: str) -> dict[str, str]:
    words = " · ".join(filter(None, [whole_percent(done), left, text]))
    style = "font-family: monospace; white-space: nowrap; overflow: hidden; text-overflow: ellipsis"
    bar = f'<progress value="{done}" max="1" style="width: 12em; vertical-align: middle"></progress>'
    return {"text/plain": words, "text/html": f'<div style="{style}">{bar} {escape(words)}</div>'}
