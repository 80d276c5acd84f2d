"""Runtimes are found by name: those of onnxperf, and those that other packages bring."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import onnxperf
from onnxperf.errors import BadOption, BrokenLibrary, MissingExtra
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import RuntimeDescription
from onnxperf.runtimes.find import distributions, find_runtime, runtimes

PLUGINS = Path(__file__).parent.parent / "plugins"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both packages, as pip would have put them on the path."""
    for package in ("toy_runtime", "bad_runtimes"):
        monkeypatch.syspath_prepend(PLUGINS / package)
    yield
    for package in ("toy_runtime", "bad_runtimes"):
        sys.modules.pop(package, None)


def test_without_plug_ins_there_are_those_of_onnxperf() -> None:
    assert runtimes() == ("ort", "numpy", "reference", "openvino")


@pytest.mark.usefixtures("installed")
def test_a_runtime_of_another_package_races_in_a_worker_of_its_own(linear_path: Path) -> None:
    result = onnxperf.bench(
        linear_path, runtime="ort,toy", call="all", blocks=2, calls_per_block=1, threads=1, dims={"batch": 2}
    )
    toys = [subject for subject in result.subjects if subject.runtime == "toy"]
    assert [(subject.name, subject.status) for subject in toys] == [("toy run", "ok"), ("backwards", "ok")]
    assert toys[0].conditions["toy"] == "1.0"
    assert result.record.machine.versions["toy-runtime"] == "1.0"


@pytest.mark.usefixtures("installed")
def test_a_runtime_of_another_package_predicts(linear_bytes: bytes) -> None:
    features = np.ones((3, 10), np.float32)
    ours, theirs = (onnxperf.load(linear_bytes, runtime=name).run({"X": features})["Y"] for name in ("toy", "numpy"))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.usefixtures("installed")
def test_a_name_that_is_taken_stays_with_onnxperf(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(tmp_path)  # a path that was not searched before
    assert runtimes() == ("ort", "numpy", "reference", "openvino", "broken", "empty", "toy")
    assert find_runtime("ort").records
    assert caplog.messages == [
        "the runtime ort of package bad-runtimes is ignored: onnxperf already provides one with this name"
    ]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("broken", r"the runtime 'broken' of package bad-runtimes cannot be loaded: ModuleNotFoundError: No module"),
        ("empty", r"the runtime 'empty' of package bad-runtimes .*: bad_runtimes:NOTHING is not a RuntimeDescription"),
        ("tvm", r"unknown runtime 'tvm'; choose from: ort, numpy, reference, openvino, broken, empty, toy"),
    ],
)
def test_a_runtime_that_cannot_be_used_is_one_line(name: str, message: str) -> None:
    with pytest.raises(BadOption, match=message) as refused:
        find_runtime(name)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("installed")
def test_versions_to_report_come_from_the_descriptions() -> None:
    assert distributions() == (
        "onnxruntime",
        "onnxruntime-gpu",
        "numpy",
        "onnx",
        "openvino",
        "bad-runtimes",
        "toy-runtime",
    )


def test_descriptions_are_read_without_their_libraries() -> None:
    script = (
        "import sys; from onnxperf.runtimes.find import find_runtime, runtimes;"
        "names = [find_runtime(name).name for name in runtimes()];"
        "print(names, {'onnx', 'onnxruntime', 'openvino'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "['ort', 'numpy', 'reference', 'openvino'] set()"


def test_a_library_that_is_missing_is_named_with_its_extra() -> None:
    def load() -> None:
        importlib.import_module("no_such_library")

    description = RuntimeDescription(
        name="new",
        calls=(),
        load=load,  # type: ignore[arg-type]  # it never returns
        distributions=("no_such_library",),
        extra="new",
    )
    with pytest.raises(MissingExtra, match=r"no_such_library is not installed; .*\[new\]"):
        description.open_session(b"", SessionOptions())
    other = dataclasses.replace(description, distributions=("other-library",))
    with pytest.raises(BrokenLibrary, match=r"other-library cannot be imported: .*No module named 'no_such_library'"):
        other.open_session(b"", SessionOptions())
