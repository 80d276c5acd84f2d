"""TensorFlow's own warning about tracing, heard and not shown."""

from __future__ import annotations

import logging
import sys
from types import ModuleType

import pytest

from onnxperf.analyze.answers.race import notes_on_retracing
from onnxperf.measure.worker import retracing
from onnxperf.records.race import Measurement

WARNING = "5 out of the last 5 calls to <function f> triggered tf.function retracing. Tracing is expensive"


def test_a_warning_about_tracing_is_heard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("tensorflow")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    retracing.watch()
    logger.warning(WARNING)
    assert not retracing.retraces()  # without TensorFlow nobody listens
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    retracing.watch()
    retracing.watch()
    logger.warning("something else")
    assert not retracing.retraces()
    logger.warning(WARNING)
    assert retracing.retraces()
    assert not retracing.retraces()


def test_a_subject_that_retraces_has_a_note_with_the_remedy() -> None:
    subjects = [Measurement(name="tf", conditions={"retraces": True}), Measurement(name="ort")]
    (note,) = notes_on_retracing(subjects)
    assert note.startswith("tf: TensorFlow retraces its function while it is timed")
    assert notes_on_retracing(subjects[1:]) == []
