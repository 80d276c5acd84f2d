"""The bar that `progress` draws on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import rich.progress
from rich.console import Console, RenderableType
from rich.table import Column
from rich.text import Text


class Bar(rich.progress.Progress):
    """Rich's bar, with room for a drawing above it."""

    title: RenderableType | None = None
    above: RenderableType | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """What is above the bar, and the bar."""
        if self.title is not None:
            yield self.title
        if self.above is not None:
            yield self.above
        yield from super().get_renderables()


def start_bar(console: Console, clock: Callable[[], float], title: str = "") -> Bar:
    """A bar that is redrawn only when it is refreshed."""
    bar = Bar(
        rich.progress.BarColumn(bar_width=20),
        rich.progress.TaskProgressColumn(),
        rich.progress.TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        console=console,
        auto_refresh=False,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        get_time=clock,
    )
    bar.title = Text(title, "bold") if title else None
    bar.add_task("", total=1.0)
    bar.start()
    return bar
