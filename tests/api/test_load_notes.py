"""Every measurement of a model says once that other programs used the processors, and only if they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import onnxperf
from onnxperf.analyze.answers.race import note_on_others
from onnxperf.render.kit.console import page_text
from onnxperf.wording.busy import is_busy_text

MEASURED: dict[str, Callable[[Path], Any]] = {
    "profile": lambda model: onnxperf.profile(model, calls=3, threads=1),
    "profile of variants": lambda model: onnxperf.profile(model, calls=3, threads=[1, 2]),
    "diff without a race": lambda model: onnxperf.diff(model, opt_level="disable,all", calls=3, race=False),
    "diff": lambda model: onnxperf.diff(model, opt_level="disable,all", calls=3, time=0.1),
    "memory": lambda model: onnxperf.memory(model, calls=20, skip_arena=True),
    "advise": lambda model: onnxperf.advise(model, threads=1, time=0.3),
}


@pytest.mark.parametrize(("share", "times"), [(0.4, 1), (0.04, 0), (None, 0)])
@pytest.mark.parametrize("what", MEASURED)
def test_other_programs_are_noted_once(
    linear_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, share: float | None, times: int
) -> None:
    monkeypatch.setattr("onnxperf.measure.machine.load.share_of_others", lambda _start, _end: share)
    result = MEASURED[what](linear_path)
    assert sum(map(is_busy_text, _notes(result.record))) == times
    assert page_text(result.page()).count("other programs used 40 %") == times
    if times:
        assert note_on_others(share)[0] in _notes(result.record)


def _notes(record: Any) -> Sequence[str]:
    return [note for part in (record, *getattr(record, "cases", ())) for note in getattr(part, "notes", ())]
