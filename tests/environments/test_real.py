"""An environment from the registry, and a worker in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

import onnxperf
from onnxperf.environments import kept
from onnxperf.environments.find import environment
from onnxperf.errors import BadInput
from onnxperf.measure.messages import Compute, EndRecording, Load, ModelSubject, Prepare, WorkerSpec, outputs_in
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.process import open_worker
from onnxperf.records.envs import Environment
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.runtimes.ort.calls import CALLS
from tests.environments.prepare import KEPT, NEEDED

pytestmark = pytest.mark.slow


@pytest.fixture
def prepared(own_cache: Path) -> Callable[[str], Environment]:
    """Environments of `make environments`, or built now."""
    there = KEPT / "onnxperf" / "environments"
    there.mkdir(parents=True, exist_ok=True)
    kept.folder_of_all().parent.mkdir(parents=True, exist_ok=True)
    kept.folder_of_all().symlink_to(there, target_is_directory=True)

    def prepare(name: str) -> Environment:
        try:
            return environment(name)
        except BadInput as error:
            if re.search("registry cannot be reached|no wheel", str(error)):
                pytest.skip(f"this environment cannot be built here: {error}")
            raise

    return prepare


def test_all_call_styles_and_traces_work_in_a_worker_with_another_onnxruntime(
    prepared: Callable[[str], Environment], linear_path: Path, linear_proto: onnx.ModelProto, tmp_path: Path
) -> None:
    (name,) = NEEDED
    other = prepared(name)
    assert other.packages["onnxruntime"] == "1.20.1"
    array = np.ones((2, 10), np.float32)
    spec = WorkerSpec(
        subjects=tuple(ModelSubject(name=call, call=call) for call in CALLS),
        threads=1,
        feeds=pack_feeds({"X": array}),
        python=other.python,
        runtime="ort",
        model_label="linear",
        model_path=str(linear_path),
        session=SessionOptions(threads=1),
        recording=Recording(trace_prefix=str(tmp_path / "trace")),
    )
    expected = array @ onnx.numpy_helper.to_array(linear_proto.graph.initializer[0])
    with open_worker(spec, timeout_s=120.0) as worker:
        assert worker.ask(Load(spec)).conditions["onnxruntime"] == "1.20.1"
        for index in range(len(CALLS)):
            worker.ask(Prepare(index))
            _, (output,) = outputs_in(worker.ask(Compute(index)))
            np.testing.assert_allclose(output, expected, rtol=1e-5)
        trace = worker.ask(EndRecording()).path
    assert Path(trace).stat().st_size > 0
    assert [each.name for each in onnxperf.envs().record.environments].count(name) == 1
