"""What all tests share: a cache of their own and a small model."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import IO, Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import HealthCheck, Phase, settings
from onnx import numpy_helper

from onnxperf.measure import process
from onnxperf.measure.messages import FunctionSubject, WorkerSpec
from tests.quick_workers import SKLEARN, Forge

# A busy machine must not fail a test, and the same commit must always give the same answer.
settings.register_profile(
    "steady", deadline=None, derandomize=True, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
# `make test-all`
settings.register_profile("all", settings.get_profile("steady"), max_examples=100)
# Now and then, look further: pytest --hypothesis-profile=explore
settings.register_profile("explore", deadline=None, max_examples=1000)
# `make mutants` asks for a failure, not for the smallest one, and asks a thousand times.
settings.register_profile(
    "mutants", settings.get_profile("steady"), phases=[Phase.explicit, Phase.generate], max_examples=20
)
# `make fuzz`: another seed each time, and for as long as it takes.
settings.register_profile(
    "fuzz", deadline=None, max_examples=20_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("ONNXPERF_HYPOTHESIS", "steady"))

_LONG_S = 60
"""Of tests, from which on it is worth knowing what took the time."""

# Whatever a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process is left alone with one in the end.

    With a seed in ONNXPERF_TEST_ORDER, all tests come in any order.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if seed := os.environ.get("ONNXPERF_TEST_ORDER"):
        Random(seed).shuffle(items)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The ten slowest files."""
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for each in reports:
            if isinstance(each, pytest.TestReport):
                seconds[each.nodeid.partition("::")[0]] += each.duration
    if sum(seconds.values()) > _LONG_S:
        terminalreporter.section(f"slowest files of {len(seconds)}, in seconds")
        for name, taken in sorted(seconds.items(), key=lambda item: -item[1])[:10]:
            terminalreporter.write_line(f"{taken:8.1f}  {name}")


_LINEAR = """
<ir_version: 8, opset_import: ["" : 17]>
linear (float[batch, 10] X) => (float[batch, 4] Y)
{ Y = MatMul(X, W) }
"""


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """New folders; pytest's own would have numbers, for which it looks at all that are there, each time."""
    base = tmp_path_factory.mktemp("caches")
    return (base / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The noise of the developer's machine must not reach a test, nor a test the developer's cache."""
    folder = next(caches)
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "data"))
    monkeypatch.delenv("ONNXPERF_STORE", raising=False)
    return folder


@pytest.fixture(autouse=True)
def same_chance() -> None:
    """Estimators without a seed draw from numpy's: the tests before must not decide what a test gets."""
    np.random.seed(0)


@pytest.fixture(autouse=True)
def no_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a second for every case; tests of the yardstick itself bring their own."""
    monkeypatch.setattr("onnxperf.api._shared.yardstick.measure_launches", lambda _limits, _progress: ())


@pytest.fixture(scope="session")
def forge() -> Iterator[Forge]:
    """A process that forks workers, which only then costs something when a test needs one."""
    with contextlib.closing(Forge()) as opened:
        yield opened


@pytest.fixture(scope="session")
def forge_of_estimators() -> Iterator[Forge]:
    """The same for workers that call scikit-learn."""
    with contextlib.closing(Forge(*SKLEARN)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def quick_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked from a process that has imported what they need, unless a test is marked `fresh_workers`."""
    if request.node.get_closest_marker("fresh_workers"):
        return
    start_process, ours = process.start_process, os.getpid()  # a fork of this process has no part in the forge

    def start(spec: WorkerSpec, handle: int, output: IO[bytes]) -> Any:
        if spec.python is not None or spec.wrapper or os.getpid() != ours:
            return start_process(spec, handle, output)
        functions = [each.function for each in spec.subjects if isinstance(each, FunctionSubject)]
        has_estimator = any(b"sklearn" in function for function in functions)
        forge: Forge = request.getfixturevalue("forge_of_estimators" if has_estimator else "forge")
        return forge.start(spec.runtime, handle, output.fileno(), process.environment_of(spec))

    monkeypatch.setattr(process, "start_process", start)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder for what is made once, for all processes of this run."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def zoo_of_all(shared_folder: Path) -> Path:
    """A folder for zoo models: to build them all takes a minute."""
    folder = shared_folder / "zoo"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def built(own_cache: Path, zoo_of_all: Path) -> Callable[[str, str], list[str]]:
    """Build a zoo model of a framework, unless a test before did; returns what was said during the build."""
    from onnxperf.zoo.build import zoo_folder, zoo_model

    zoo_folder().parent.mkdir(parents=True, exist_ok=True)
    zoo_folder().symlink_to(zoo_of_all, target_is_directory=True)

    def build(name: str, framework: str) -> list[str]:
        with (zoo_of_all / f"{name}-{framework}.lines").open("a+") as lines:
            fcntl.flock(lines, fcntl.LOCK_EX)  # until the file is closed
            zoo_model(name, framework, lambda text: print(json.dumps(text), file=lines))
            lines.seek(0)
            return [json.loads(line) for line in lines]

    return build


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
