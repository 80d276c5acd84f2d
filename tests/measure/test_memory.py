"""What the kernel shows of memory, and what a step needed."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxperf.measure import memory
from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, resident_bytes, trim
from onnxperf.measure.messages import CallMany
from onnxperf.measure.worker import memory_probe
from onnxperf.measure.worker.host import Host
from onnxperf.records.memory import Resident

MB = 1 << 20
ROOM = 24 * MB
"""Between two readings: kernels count pages in batches per processor, and hand them out in huge ones."""
pytestmark = pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the kernel of Linux")


def spike(size: int) -> None:
    """Touch memory, and give it back at once."""
    with mmap.mmap(-1, size) as area:
        area.write(b"x" * size)


def alone(body: Callable[..., None], *arguments: Any) -> None:
    """Run the body of a test in a fresh process: in this one, an array may lie in memory that others have left."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(body, *arguments).result()


@pytest.mark.parametrize("size", [64 * MB, 256 * MB])
def test_a_peak_that_is_over_is_still_known(size: int) -> None:
    alone(peak_is_known, size)


def peak_is_known(size: int) -> None:
    before = read_resident().total_bytes
    assert reset_peak()
    np.ones(size, np.uint8)
    peak = peak_bytes()
    assert peak is not None
    assert peak - before == pytest.approx(size, abs=ROOM)
    assert read_resident().total_bytes - before < ROOM


def test_a_reset_forgets_an_earlier_peak() -> None:
    alone(reset_forgets)


def reset_forgets() -> None:
    spike(256 * MB)
    assert reset_peak()
    peak = peak_bytes()
    assert peak is not None
    assert peak == pytest.approx(read_resident().total_bytes, abs=ROOM)


def test_arrays_are_anonymous_and_mapped_files_are_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(128 * MB))
    alone(array_and_file_are_told_apart, path)


def array_and_file_are_told_apart(path: Path) -> None:
    before = read_resident()
    mapped = np.memmap(path, np.uint8, "r")
    assert mapped.sum() == 0
    with_file = read_resident()
    kept = np.ones(128 * MB, np.uint8)
    after = read_resident()
    assert with_file.file_bytes - before.file_bytes == pytest.approx(128 * MB, abs=ROOM)
    assert after.anonymous_bytes - with_file.anonymous_bytes == pytest.approx(kept.nbytes, abs=ROOM)


def test_what_another_process_has_is_known_until_it_ends() -> None:
    import os

    assert resident_bytes(os.getpid()) == pytest.approx(read_resident().total_bytes, abs=ROOM)
    assert resident_bytes(2**22 - 1) == 0


def test_trimming_gives_back_what_is_free() -> None:
    alone(trim_and_compare)


def trim_and_compare() -> None:
    pieces = [bytes(100_000) for _ in range(1000)]
    keep = pieces[::100]
    full = read_resident().anonymous_bytes
    del pieces
    trim()
    assert full - read_resident().anonymous_bytes > 50 * MB
    assert len(keep) == 10


def test_sizes_are_those_that_the_kernel_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    (tmp_path / "7").mkdir()
    (tmp_path / "7/status").write_text(
        "VmPeak:\t9000 kB\nVmHWM:\t50 kB\nRssAnon:\t30 kB\nRssFile:\t8 kB\nRssShmem:\t2 kB\n"
    )
    (tmp_path / "7/statm").write_text("2250 10 3 1 0 900 0\n")
    assert read_resident(7) == Resident(anonymous_bytes=30 << 10, file_bytes=10 << 10)
    assert peak_bytes(7) == 50 << 10
    assert resident_bytes(7) == 10 * mmap.PAGESIZE


def test_without_the_kernels_help_there_is_no_peak_and_psutil_gives_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "PROC", tmp_path)
    assert not reset_peak()
    assert peak_bytes() is None
    assert read_resident().anonymous_bytes > MB
    assert read_resident().file_bytes == 0


def test_a_step_is_measured_with_its_peak_and_without_what_it_returned() -> None:
    alone(step_is_measured)


def step_is_measured() -> None:
    def step() -> list[np.ndarray]:
        np.ones(256 * MB, np.uint8)
        return [np.ones(64 * MB, np.uint8)]

    for _ in range(2):
        mark, size = memory_probe.probe(step)
        assert size == 64 * MB
        assert mark.peak_bytes is not None
        assert mark.peak_bytes - mark.before.total_bytes == pytest.approx(256 * MB, abs=ROOM)
        assert mark.after.total_bytes - mark.before.total_bytes < ROOM
        assert mark.duration_ns > 0


def test_what_a_step_keeps_is_there_afterwards() -> None:
    alone(kept_is_there)


def kept_is_there() -> None:
    kept: list[np.ndarray] = []
    mark, _ = memory_probe.probe(lambda: kept.append(np.ones(128 * MB, np.uint8)))
    assert mark.after.anonymous_bytes - mark.before.anonymous_bytes == pytest.approx(128 * MB, abs=ROOM)


def test_calls_that_keep_memory_grow() -> None:
    alone(calls_grow)


def calls_grow() -> None:
    kept: list[np.ndarray] = []
    before = memory_probe.call_many(Host(calls={0: lambda: None}), CallMany(1)).resident.anonymous_bytes
    called = memory_probe.call_many(Host(calls={0: lambda: kept.append(np.ones(MB, np.uint8))}), CallMany(128))
    assert called.resident.anonymous_bytes - before == pytest.approx(128 * MB, abs=ROOM)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros(10, np.float32), 40),
        ([np.zeros(2, np.int64), (np.zeros(3, np.int8), None)], 19),
        ({"a": np.zeros(5, np.float64), "b": [np.int32(1)]}, 44),
        (None, 0),
        ({"a": np.zeros(5, np.float64), "b": [1, "text"]}, None),
        ([{"label": 0.5}], None),
    ],
)
def test_the_size_of_a_result_is_that_of_its_arrays_or_unknown(value: object, size: int | None) -> None:
    assert memory_probe.size_of(value) == size


def values_of_onnxruntime(kind: int) -> Any:
    """Three numbers, cast to a type by a model and left in onnxruntime's hands."""
    import onnxruntime
    from onnx import TensorProto, helper

    source = helper.make_tensor_value_info("X", TensorProto.FLOAT, [3])
    cast, ends = helper.make_node("Cast", ["X"], ["Y"], to=kind), helper.make_tensor_value_info("Y", kind, [3])
    graph = helper.make_graph([cast], "g", [source], [ends])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("X", np.ones(3, np.float32))
    binding.bind_output("Y")
    session.run_with_iobinding(binding)
    return binding._iobinding.get_outputs()


@pytest.mark.parametrize(("kind", "size"), [("DOUBLE", 24), ("STRING", None)])
def test_values_of_onnxruntime_tell_their_size_and_texts_have_none(kind: str, size: int | None) -> None:
    from onnx import TensorProto

    assert memory_probe.size_of(values_of_onnxruntime(TensorProto.DataType.Value(kind))) == size
