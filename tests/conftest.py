"""What all tests share: a cache of their own and a small model."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import HealthCheck, Phase, settings
from onnx import numpy_helper

# A busy machine must not fail a test, and the same commit must always give the same answer.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Now and then, look further: pytest --hypothesis-profile=explore
settings.register_profile("explore", deadline=None, max_examples=1000)
# `make mutants` asks for a failure, not for the smallest one, and asks a thousand times.
settings.register_profile(
    "mutants", settings.get_profile("steady"), phases=[Phase.explicit, Phase.generate], max_examples=20
)
settings.load_profile("steady")

# Whatever a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process is left alone with one in the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


_LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, 10] X) => (float[batch, 4] Y)
{ Y = MatMul(X, W) }
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The noise of the developer's machine must not reach a test, nor a test the developer's cache."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.delenv("ONNXPERF_STORE", raising=False)
    return folder


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Once a library has imported pyplot, charts are drawn with it, and it keeps them open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def linear_proto() -> onnx.ModelProto:
    """Y = X W, with weights that are not all alike."""
    proto = onnx.parser.parse_model(_LINEAR)
    weights = np.arange(40, dtype=np.float32).reshape(10, 4) / 40
    proto.graph.initializer.append(numpy_helper.from_array(weights, "W"))
    return proto


@pytest.fixture(scope="session")
def linear_bytes(linear_proto: onnx.ModelProto) -> bytes:
    """The linear model as bytes."""
    return bytes(linear_proto.SerializeToString())


@pytest.fixture
def linear_path(linear_bytes: bytes, tmp_path: Path) -> Path:
    """The linear model as a file."""
    path = tmp_path / "linear.onnx"
    path.write_bytes(linear_bytes)
    return path
