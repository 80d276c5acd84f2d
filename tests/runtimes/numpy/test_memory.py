"""A run holds little more than the tensors that are alive, beside a bounded workspace for convolutions."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnxperf.runtimes.numpy.compile import last_uses, memory_read_until, own_memory
from onnxperf.runtimes.numpy.kernels.workspace import WORKSPACE_BYTES
from onnxperf.runtimes.numpy.lower import Lowered
from onnxperf.runtimes.numpy.session import NumpySession

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def live_set(lowered: Lowered, sizes: dict[str, int]) -> int:
    """The largest sum of tensors that are alive at one node, the caller's and constants aside."""
    own, until = own_memory(lowered), memory_read_until(lowered, last_uses(lowered))
    spans = [
        (index, until[id(value)], sizes[value.name])
        for index, step in enumerate(lowered.steps)
        for value in step.outputs
        if value is not None and id(value) in own
    ]
    indices = range(len(lowered.steps))
    return max(sum(size for born, end, size in spans if born <= index <= end) for index in indices)


def peak_of(call: Any) -> int:
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squeezenet", "shufflenet", "inception_v1", "resnet50", "densenet121"])
def test_the_peak_of_a_real_network_is_its_live_set_and_the_workspace(name: str) -> None:
    session = NumpySession(onnx.load(LIGHT / f"light_{name}.onnx"))
    (image,) = session.input_names
    feeds = {image: np.random.default_rng(0).random((1, 3, 224, 224), dtype=np.float32)}
    call = session.bind("run", feeds, {})
    call()
    sizes = {key: getattr(value, "nbytes", 0) for key, value in session.intermediates(feeds).items()}
    assert peak_of(call) <= 1.1 * live_set(session.lowered, sizes) + WORKSPACE_BYTES
