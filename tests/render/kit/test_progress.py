"""A progress bar that never disturbs what is measured."""

from __future__ import annotations

import io

import pytest
from rich.text import Text

from onnxperf.render.kit.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


def test_progress_is_silent_for_the_first_second() -> None:
    clock, terminal = Clock(), Terminal()
    with Progress(terminal, clock) as progress:
        clock.now += 0.9
        progress.update(0.5, "round 3")
        assert terminal.getvalue() == ""
        clock.now += 0.2
        progress(0.6, "round [4]\n")
        assert "round [4]\\n" in terminal.getvalue()
        assert "60%" in terminal.getvalue()


def test_progress_is_redrawn_at_most_ten_times_a_second() -> None:
    clock, terminal = Clock(), Terminal()
    drawn = 0
    with Progress(terminal, clock) as progress:
        clock.now += 1
        for _ in range(1000):
            clock.now += 0.001
            before = len(terminal.getvalue())
            progress.update(0.5, "racing")
            drawn += len(terminal.getvalue()) > before
    assert 9 <= drawn <= 10


def test_progress_vanishes_and_gives_the_cursor_back() -> None:
    clock, terminal = Clock(), Terminal()
    with Progress(terminal, clock) as progress:
        clock.now += 2
        progress.update(2.0, "racing")
    assert terminal.getvalue().endswith("\x1b[2K")
    assert "\x1b[?25h" in terminal.getvalue()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_progress_draws_nothing_where_it_could_not_be_wiped(term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", term)
    clock, stream = Clock(), Terminal() if term == "dumb" else io.StringIO()
    with Progress(stream, clock) as progress:
        clock.now += 5
        progress.update(0.5, "racing")
    assert stream.getvalue() == ""


def test_what_is_known_so_far_is_drawn_above_the_bar() -> None:
    stream = Terminal()
    with Progress(stream, Clock()) as progress:
        progress.show(lambda console: Text(f"a table {console.width} wide"))
        assert "a table" in stream.getvalue()


def test_nothing_is_drawn_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with Progress(stream, enabled=True) as progress:
        progress.show(lambda _console: Text("a table"))
    assert stream.getvalue() == ""


class Gone(Terminal):
    """A terminal that was closed after the first line."""

    def write(self, text: str) -> int:
        if self.tell():
            raise OSError(5, "Input/output error")
        return super().write(text)


def test_a_terminal_that_goes_away_costs_only_the_bar() -> None:
    clock, terminal = Clock(), Gone()
    with Progress(terminal, clock) as progress:
        for _ in range(3):
            clock.now += 2
            progress.update(0.5, "round")
            progress.show(lambda _console: "above")
