"""Who sees the progress of a call in Python."""

from __future__ import annotations

import inspect
import io
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import onnxperf
from onnxperf.api._shared.progress import DELAY_S, automatic, shown
from onnxperf.api._shared.public import public
from onnxperf.measure.race import Progress
from onnxperf.options.base import Takes
from onnxperf.render.kit import notebook_progress, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@public(Takes())
def slow(number: int, *, progress: Progress = automatic) -> int:
    """Number how often it was called."""
    progress(0.5, "half of it")
    return number


@pytest.fixture(autouse=True)
def _no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests have imported."""
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)


def in_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


def test_a_script_without_a_terminal_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with shown(automatic) as report:
        assert report is automatic
    assert slow(3) == 3
    assert stream.getvalue() == ""


def test_a_terminal_has_a_bar_after_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown(None) as report:
        assert isinstance(report, progress.Progress)
        report(0.5, "racing")  # too early
        assert report._delay == DELAY_S == 2
    assert terminal.getvalue() == ""


def test_a_notebook_has_a_bar_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    in_kernel(monkeypatch)
    with shown(automatic) as report:
        assert isinstance(report, notebook_progress.NotebookProgress)
    assert slow(4) == 4


def test_what_the_caller_gives_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    in_kernel(monkeypatch)
    texts: list[str] = []
    assert slow(5, progress=lambda _done, text: texts.append(text)) == 5
    assert texts == ["half of it"]


def functions() -> list[str]:
    """Public functions that report progress."""
    public: dict[str, Any] = {name: getattr(onnxperf, name) for name in onnxperf.__all__}
    return [
        name
        for name, each in public.items()
        if inspect.isfunction(each) and "progress" in inspect.signature(each).parameters
    ]


def test_all_public_functions_leave_the_decision_to_one_place() -> None:
    assert len(functions()) >= 12
    for name in functions():
        parameter = inspect.signature(getattr(onnxperf, name)).parameters["progress"]
        assert parameter.default is automatic, name
        assert parameter.kind is parameter.KEYWORD_ONLY, name
