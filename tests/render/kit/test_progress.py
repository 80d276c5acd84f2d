"""A progress bar that never disturbs what is measured."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.text import Text

from onnxperf.render.kit.notebook_progress import NotebookProgress
from onnxperf.render.kit.pace import Pace
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


def test_a_titled_bar_is_drawn_at_once() -> None:
    terminal = Terminal()
    with Progress(terminal, Clock(), title="onnxperf bench model.onnx"):
        assert "onnxperf bench model.onnx" in terminal.getvalue()
        assert "0%" in terminal.getvalue()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_titled_one_is_a_line_every_30_s_where_it_could_not_be_wiped(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    clock, stream = Clock(), Terminal() if term == "dumb" else io.StringIO()
    with Progress(stream, clock, title="onnxperf bench m.onnx") as progress:
        for second in range(65):
            clock.now += 1
            progress.update(second / 100, f"round {second}")
    assert stream.getvalue().splitlines() == [
        "onnxperf bench m.onnx · 29 % · 71 s left · round 29",
        "onnxperf bench m.onnx · 59 % · 42 s left · round 59",
    ]


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


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([(0.0, 0), (0.5, 10)], "10 s left"),
        ([(0.0, 0), (0.0, 60), (0.5, 70)], "10 s left"),  # a minute of loading does not come again
        ([(0.25, 0), (0.5, 10), (0.75, 20)], "10 s left"),  # resumed
        ([(0.0, 0), (0.1, 60)], "9 min left"),
        ([(0.0, 0), (0.01, 60)], ""),  # too early
        ([(0.0, 0), (1.0, 60)], ""),
        ([(0.3, 5)], ""),
        ([(0.0, 0), (0.5, 10), (0.52, 12)], "10 s left"),  # does not grow with a short pause
        ([(0.0, 0), (0.5, 10), (0.1, 50)], "8 min left"),  # but with much more work
        ([], ""),
    ],
)
def test_the_time_left_follows_from_the_pace_so_far(steps: list[tuple[float, float]], left: str) -> None:
    pace = Pace()
    for done, now in steps:
        pace.note(done, now)
        pace.left()
    assert pace.left() == left


def test_the_bar_has_the_time_left() -> None:
    clock, terminal = Clock(), Terminal()
    with Progress(terminal, clock, delay=2) as progress:
        progress.update(0.0, "loading")
        clock.now += 1.9
        progress.update(0.2, "round 1")
        assert terminal.getvalue() == ""
        clock.now += 1.1
        progress.update(0.3, "round 2")
        assert "7 s left" in terminal.getvalue()


class Cell:
    """The output of a notebook's cell: what was shown first, and every update of it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Cell:
        assert raw
        assert display_id
        assert not self.shown, "a second output; the first one should have been updated"
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle)


def notebook_run(*steps: tuple[float, float, str]) -> list[dict[str, str]]:
    """What a cell shows of steps after so many seconds."""
    clock, cell = Clock(), Cell()
    with NotebookProgress(2.0, clock, cell) as progress:
        for seconds, done, text in steps:
            clock.now = 100 + seconds
            progress(done, text)
    return cell.shown


def test_a_notebook_shows_nothing_of_a_quick_call() -> None:
    assert notebook_run((0.1, 0.0, "loading"), (1.9, 0.9, "round 9")) == []


def test_a_notebook_shows_one_output_that_is_updated_in_place_and_emptied() -> None:
    steps = [(number / 10, number / 100, f"round {number} <of> 100") for number in range(100)]
    shown = notebook_run(*steps)
    assert shown[0]["text/plain"] == "20 % · 8 s left · round 20 <of> 100"
    assert "round 20 &lt;of&gt; 100" in shown[0]["text/html"]
    assert 15 <= len(shown) <= 18  # twice a second, and once at the end
    assert shown[-1] == {"text/plain": "", "text/html": ""}


def test_what_is_done_stays_between_nothing_and_all() -> None:
    shown: Any = notebook_run((3, -1.0, "a"), (4, 7.0, "b"))
    assert [each["text/plain"] for each in shown] == ["0 % · a", "100 % · b", ""]
