"""Whether a call in Python shows its progress: decided here for all public functions."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnxperf.measure.race import Progress

DELAY_S = 2.0
"""Calls that take less show nothing."""


def automatic(_done: float, _text: str) -> None:
    """Default of `progress`: a bar on a terminal or in a notebook, nothing in a script without either."""


def part_of(progress: Progress, start: float, end: float) -> Progress:
    """The progress of a step that is this part of the whole."""

    def report(done: float, text: str) -> None:
        progress(start + (end - start) * done, text)

    return report


def shown(progress: Progress | None) -> AbstractContextManager[Progress]:
    """What is given; else a bar on a terminal or in a notebook, and nothing if there is neither."""
    if progress is not None and progress is not automatic:
        return nullcontext(progress)
    if _in_notebook():
        from onnxperf.render.kit.notebook_progress import NotebookProgress

        return NotebookProgress(DELAY_S)
    if sys.stderr is not None and sys.stderr.isatty():
        from onnxperf.render.kit.progress import Progress as TerminalProgress  # rich takes its time to load

        return TerminalProgress(delay=DELAY_S)
    return nullcontext(automatic)


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this code."""
    if "ipykernel" not in sys.modules or "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
