"""Onnxruntime's quantizer in a process with limits; one that dies is replaced, and what it was doing is an error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from onnxperf.api._quantization.samples import Samples
from onnxperf.errors import BadModel, SubjectError
from onnxperf.measure.messages import QUANTIZER, Hold, Reply, Request, WorkerSpec
from onnxperf.measure.packing import pack_feeds
from onnxperf.measure.process import ProcessWorker
from onnxperf.measure.quantizing import (
    ComparedModels,
    CompareModels,
    ConvertModel,
    InputRange,
    PrepareModel,
    QuantizeModel,
)
from onnxperf.measure.reading import ModelPlace
from onnxperf.model.opened import LARGEST_PROTO_BYTES, Model
from onnxperf.records.options import SessionOptions, WorkerLimits
from onnxperf.records.quantize import OutputError, QuantizationWay
from onnxperf.wording.numbers import size

_MEMORY_BYTES = 4 << 30
_MEMORY_PER_BYTE = 32
"""Address space that the quantizer may take: so much, and so much for each byte of the model. It holds several copies
of it, and sessions with their threads reserve more than they use."""

R = TypeVar("R", bound=Reply)


class Quantized(NamedTuple):
    """A quantized model."""

    path: Path
    nodes: tuple[str, ...]
    """Nodes of the prepared model that are quantized."""
    size_bytes: int


@dataclass(eq=False)
class Quantizer:
    """A model that was prepared, and what can be made of it."""

    model: Model
    session: SessionOptions
    samples: Samples
    folder: Path
    limits: WorkerLimits
    has_convolutions: bool = field(default=False, init=False)
    """Known once the model is prepared."""
    _worker: ProcessWorker | None = field(default=None, init=False)
    _files: int = field(default=0, init=False)

    @property
    def prepared(self) -> Path:
        """File of the model as the quantizer takes it."""
        return self.folder / "prepared.onnx"

    def prepare(self) -> None:
        """Make the file that everything else starts from."""
        model, most = self.model, LARGEST_PROTO_BYTES
        if model.size_bytes > most:
            raise BadModel(
                f"{model.what} has {size(model.size_bytes)}; only models of up to {size(most)} can be quantized"
            )
        memory_bytes = _MEMORY_BYTES + _MEMORY_PER_BYTE * model.size_bytes
        place = ModelPlace(name=os.fsencode(model.path), what=model.what, memory_bytes=memory_bytes)
        self.has_convolutions = self._ask(PrepareModel(place, str(self.prepared))).convolutions > 0

    def quantized(self, way: QuantizationWay, only: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> Quantized:
        """A file with the model quantized in one way."""
        path = self._next_file()
        request = QuantizeModel(str(self.prepared), str(path), way, self.samples.calibration, only, exclude)
        found = self._ask(request)
        return Quantized(path, found.nodes, found.size_bytes)

    def converted(self, precision: Literal["float16", "bfloat16"]) -> Path:
        """A file with the model in another floating-point type, which onnxruntime can run."""
        path = self._next_file()
        self._ask(ConvertModel(str(self.prepared), str(path), precision, self.session))
        return path

    def errors(self, path: Path, most: int | None = None) -> tuple[OutputError, ...]:
        """How the outputs of a file differ from those of the model on inputs that choose, or on the first of them."""
        return self.compared(path, most).errors

    def compared(self, path: Path, most: int | None = None) -> ComparedModels:
        """The same, with the times that this showed."""
        return self._compared(path, self.samples.choosing, most)

    def held_out_errors(self, path: Path, most: int) -> tuple[OutputError, ...]:
        """How the outputs differ on the first of the inputs that choose nothing: what may be reported."""
        return self._compared(path, self.samples.held_out, most).errors

    def _compared(self, path: Path, inputs: InputRange, most: int | None) -> ComparedModels:
        last = inputs.last if most is None else min(inputs.last, inputs.first + most)
        return self._ask(CompareModels(str(self.model.path), str(path), self.session, InputRange(inputs.first, last)))

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.close()
        self._worker = None

    def _next_file(self) -> Path:
        self._files += 1
        return self.folder / f"quantized-{self._files}.onnx"

    def _ask(self, request: Request[R]) -> R:
        if self._worker is not None and (self._worker.ended or not self._worker.idle):
            self.close()
        if self._worker is None:
            self._worker = self._started()
        return self._worker.ask(request)

    def _started(self) -> ProcessWorker:
        feeds = pack_feeds(self.samples.arrays)
        spec = WorkerSpec(subjects=(), threads=self.session.threads or 1, feeds=feeds, runtime=QUANTIZER)
        worker = ProcessWorker(spec, self.limits.timeout, self.limits.memory_limit)
        try:
            worker.wait_until_ready()
            worker.ask(Hold(spec))
        except BaseException:
            worker.close()
            raise
        return worker


@contextmanager
def open_quantizer(
    model: Model, session: SessionOptions, samples: Samples, folder: Path, limits: WorkerLimits
) -> Iterator[Quantizer]:
    """A quantizer whose model is prepared; whatever happens, its process is ended."""
    plain = replace(session, env="")  # errors are measured with our own onnxruntime, which quantises
    quantizer = Quantizer(model, plain, samples, folder, limits)
    try:
        try:
            quantizer.prepare()
        except SubjectError as error:
            raise BadModel(f"{model.what} cannot be prepared for quantization: {error.reason}") from error
        yield quantizer
    finally:
        quantizer.close()
