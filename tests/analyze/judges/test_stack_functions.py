"""The time of a call by function: the same samples as the answer, the same sums."""

from __future__ import annotations

import pytest

from onnxperf.analyze.judges.stack_functions import by_frames, by_samples
from onnxperf.analyze.trace.stack import native_shares, python_shares
from tests.render.stack import examples as made


def test_functions_add_up_to_the_shares_of_the_answer() -> None:
    found, whole = by_samples(made.SAMPLES), native_shares(made.SAMPLES)
    assert whole is not None
    assert [(each.function, each.file, each.share) for each in found] == [
        ("f", "a.py", 0.8),
        ("<script>&\x1b", "a.py", 0.2),
    ]
    for kind in ("python", "kernels", "dispatch", "unknown"):
        assert sum(getattr(each, kind) for each in found) == pytest.approx(getattr(whole, kind))
    assert sum(each.share for each in found) == pytest.approx(1)


def test_without_py_spy_functions_add_up_to_what_pyinstrument_saw() -> None:
    frames = made.stack().frames
    found, whole = by_frames(frames), python_shares(frames, 18)
    assert whole is not None
    assert [(each.function, each.kernels) for each in found] == [("run", None), ("take", None)]
    assert sum(each.python for each in found) == pytest.approx(whole.python)
    assert sum(each.share for each in found) == pytest.approx(1)
