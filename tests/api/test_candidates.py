"""Candidates: ways to run one model, raced against the first of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning.candidates import RunCandidate, by_session, race_candidates
from onnxperf.options.functions import TUNE
from onnxperf.records.options import SessionOptions

THREAD = SessionOptions(threads=1)


def test_a_candidate_with_other_outputs_differs_and_all_others_are_compared_with_the_first(
    linear_path: Path, tmp_path: Path
) -> None:
    proto = onnx.load(linear_path)
    for weight in proto.graph.initializer:
        weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(2), weight.name))
    other = tmp_path / "other.onnx"
    onnx.save(proto, other)
    settings = parse({"time": 0.5}, TUNE)
    entry = open_entries(linear_path, settings.inputs, None)[0]
    candidates = [
        RunCandidate("defaults", THREAD),
        RunCandidate("bound", THREAD, call="io-binding"),
        RunCandidate("lean", SessionOptions(threads=1, arena="off")),
        RunCandidate("doubled", THREAD, path=other),
    ]
    case = race_candidates(entry, candidates, settings, settings.race, lambda _done, _text: None)
    assert [subject.name for subject in case.subjects] == ["defaults", "bound", "lean", "doubled"]
    assert [subject.status for subject in case.subjects] == ["ok", "ok", "ok", "differs"]
    assert case.baseline == "defaults"
    assert case.subjects[1].call == "io-binding"
    assert case.subjects[1].speedup is not None


def test_call_styles_of_one_session_share_a_worker_wherever_they_stand() -> None:
    one, two = (SessionOptions(threads=threads) for threads in (1, 2))
    candidates = [
        RunCandidate("defaults", one),
        RunCandidate("threads=2", two),
        RunCandidate("call=run-c", one, "run-c"),
        RunCandidate("inputs ready", one, ready_inputs=True),
        RunCandidate("numpy", one, runtime="numpy"),
    ]
    names = [[each.name for each in group] for group in by_session(candidates)]
    assert names == [["defaults", "call=run-c"], ["threads=2"], ["inputs ready"], ["numpy"]]
