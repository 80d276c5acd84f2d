"""What this machine can do at best with a number of threads: kept from before, or measured now."""

from __future__ import annotations

import numpy as np
import onnx
from msgspec.structs import replace

from onnxperf.api._shared.racing import start_of
from onnxperf.api._shared.subjects import Entry, open_entries, ort_spec
from onnxperf.measure.machine import describe as machines
from onnxperf.measure.machine import load
from onnxperf.measure.machine import peaks as kept
from onnxperf.measure.profiling import Progress
from onnxperf.records.base import is_busy
from onnxperf.records.headroom import Peaks
from onnxperf.records.options import InputOptions, SessionOptions, WorkerLimits
from onnxperf.wording.numbers import count

_SIZES = {"float": (1024, 384), "int8": (512,)}
"""Rows and columns of the matrices: large ones keep many threads busy, small ones stay in the cache of a core."""


def peaks_of(threads: int, progress: Progress) -> Peaks:
    """The peaks with so many threads; measured and kept where they are not known yet, or only disturbed ones."""
    known = kept.recall(threads, _version(), machines.cpu_model())
    return measured_peaks(threads, progress) if known is None or known.disturbed else known


def measured_peaks(threads: int, progress: Progress) -> Peaks:
    """Measure the peaks with so many threads, in a few seconds, and keep them, or what was better before."""
    progress(0.0, f"measuring the peaks of this machine with {count(threads, 'thread')}")
    session = SessionOptions(threads=threads)
    entries = [(kind, size, _entry(kind, size)) for kind, sizes in _SIZES.items() for size in sizes]
    products = [
        kept.Product(spec=ort_spec(entry, session), operations=2.0 * size**3, integers=kind == "int8")
        for kind, size, entry in entries
    ]
    before = load.snapshot()
    found = kept.measure(
        products, threads, start_of(WorkerLimits()), machines.processors(), machines.available_memory()
    )
    disturbed = found.disturbed and is_busy(load.share_of_others(before, load.snapshot()))
    return kept.remember(replace(found, disturbed=disturbed, onnxruntime=_version()), machines.cpu_model())


def _version() -> str:
    from onnxperf.runtimes.ort.session import VERSION  # the library is large, and not always needed

    return VERSION


def _entry(kind: str, size: int) -> Entry:
    """A product of square matrices, with the inputs that it is fed."""
    generator = np.random.default_rng(0)
    is_float = kind == "float"
    left = generator.random((size, size), dtype=np.float32) if is_float else _bytes(generator, size, np.uint8)
    right = left - 0.5 if is_float else _bytes(generator, size, np.int8)
    return open_entries({f"{kind} {size}": _model(is_float, right)}, InputOptions(), {"X": left})[0]


def _bytes(generator: np.random.Generator, size: int, dtype: type[np.integer]) -> np.ndarray:
    return generator.integers(0, 100, (size, size), dtype=dtype)


def _model(is_float: bool, weights: np.ndarray) -> onnx.ModelProto:
    helper, types, shape = onnx.helper, onnx.TensorProto, list(weights.shape)
    operator, taken, made = (
        ("MatMul", types.FLOAT, types.FLOAT) if is_float else ("MatMulInteger", types.UINT8, types.INT32)
    )
    graph = helper.make_graph(
        [helper.make_node(operator, ["X", "W"], ["Y"])],
        "product",
        [helper.make_tensor_value_info("X", taken, shape)],
        [helper.make_tensor_value_info("Y", made, shape)],
        [onnx.numpy_helper.from_array(weights, "W")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
