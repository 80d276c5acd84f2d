"""The runtime `openvino`: OpenVINO on the CPU, in 32-bit floats, with the requested number of threads."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from onnxperf.errors import BadModel, MissingExtra, SubjectError
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.runtimes.base import (
    Array,
    Arrays,
    Call,
    Caller,
    CallStyle,
    Casts,
    OpenSession,
    Parts,
    RuntimeDescription,
    Session,
    cast_feeds,
    reveal_all,
)
from onnxperf.wording.names import one_line

if TYPE_CHECKING:
    from types import ModuleType

_CONVERTER = "openvino.tools.ovc"
_NUMPY_TYPES = frozenset(["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean"])
"""OpenVINO's names of the types that numpy can represent; its string tensors have crashed whole processes."""


def _load() -> OpenSession:
    _library()
    return open_session


def _check_options(_options: SessionOptions) -> None:
    if importlib.util.find_spec("openvino") is None:
        raise MissingExtra("openvino", "openvino")


def _library() -> ModuleType:
    """Import OpenVINO without its converter, which reports each import over the network and takes half of the time."""
    if "openvino" not in sys.modules and _CONVERTER not in sys.modules:
        sys.modules[_CONVERTER] = None  # type: ignore[assignment]  # how Python spells "cannot be imported"
        try:
            vars(importlib.import_module("openvino"))["__getattr__"] = _converter_on_demand
        finally:
            del sys.modules[_CONVERTER]
    return importlib.import_module("openvino")


def _converter_on_demand(name: str) -> object:
    """The omitted part of the import, for programs that also use OpenVINO directly."""
    if name != "convert_model":
        raise AttributeError(f"module 'openvino' has no attribute {name!r}")
    return importlib.import_module(_CONVERTER).convert_model


RUNTIME = RuntimeDescription(
    name="openvino",
    calls=(
        CallStyle(name="run", makes_contiguous=True),
        CallStyle(name="io-binding-fixed", needs_contiguous=True),
        CallStyle(name="io-binding-inplace", needs_contiguous=True),
    ),
    load=_load,
    check_options=_check_options,
    distributions=("openvino",),
    extra="openvino",
)


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> OpenVinoSession:
    """Compile a model for the CPU; of `options`, only the threads apply."""
    del recording
    library = _library()
    core = _core()
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": options.threads or 1,
        "INFERENCE_PRECISION_HINT": "f32",  # the default is bf16 or f16 if the processor supports them
        "EXECUTION_MODE_HINT": "ACCURACY",  # nor quantizes weights or caches on its own
        "ENABLE_HYPER_THREADING": True,  # else it may take fewer threads than requested
        "ENABLE_CPU_PINNING": False,  # workers are bound to processors already
    }
    try:
        read = core.read_model(model if isinstance(model, bytes) else str(model))
        _refuse_types(read)
        compiled = core.compile_model(read, "CPU", settings)
    except BadModel:
        raise
    except Exception as error:
        raise BadModel(f"OpenVINO {_version(library)} cannot load the model: {explain(error)}") from error
    return OpenVinoSession(compiled, model, options)


@cache
def _core() -> Any:
    """This process's only core, never freed: OpenVINO handles SIGINT, and crashes on it after unloading its plug-in."""
    return _library().Core()


def _refuse_types(model: Any) -> None:
    for kind, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            type_name = port.element_type.get_type_name()
            if type_name not in _NUMPY_TYPES:
                raise BadModel(
                    f"{kind} {_name(port)!r} has the type {type_name}, which OpenVINO cannot take from numpy"
                )


def _name(port: Any) -> str:
    """The name in the ONNX graph; OpenVINO appends the origin of a result."""
    return str(port.node.friendly_name).removesuffix("/sink_port_0")


def _version(library: ModuleType) -> str:
    return str(library.__version__).partition("-")[0]


class OpenVinoSession(Session):
    """A model compiled by OpenVINO."""

    def __init__(self, compiled: Any, model: Path | bytes, options: SessionOptions) -> None:
        self._compiled = compiled
        self._model = model
        self._options = options
        self._library = _library()
        self.input_names = tuple(map(_name, compiled.inputs))
        self.output_names = tuple(map(_name, compiled.outputs))
        used = compiled.get_property
        self.conditions = {
            "openvino": _version(self._library),
            "device": ", ".join(used("EXECUTION_DEVICES")),
            "threads": int(used("INFERENCE_NUM_THREADS")),
            "streams": int(used("NUM_STREAMS")),
            "precision": str(used("INFERENCE_PRECISION_HINT").get_type_name()),
            "pinning": bool(used("ENABLE_CPU_PINNING")),
        }

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        """Prepare a call in one of the styles of `RUNTIME`."""
        self._check(call, feeds)
        if call == "run":
            return self._bind_run(feeds, casts)
        if call == "io-binding-inplace" and casts:
            raise SubjectError("skipped", f"{call} does not copy its inputs, so it cannot cast them")
        return self._bind_fixed(feeds, casts, copied=call == "io-binding-fixed")

    def caller(self, call: str, feeds: Arrays) -> Caller:
        """One request per thread; outputs are copied."""
        if call != "run":
            return super().caller(call, feeds)
        self._check(call, feeds)
        spare: list[Any] = []

        def run(arrays: Arrays) -> Sequence[Any]:
            try:
                request = spare.pop()
            except IndexError:
                request = self._compiled.create_infer_request()
            outputs = list(request.infer(dict(arrays), True).values())
            spare.append(request)
            return outputs

        return run

    def parts(self, call: str, feeds: Arrays, casts: Casts) -> Parts:
        """Casting or copying inputs, computing, and copying outputs if the style does."""
        self._check(call, feeds)
        if call != "run":
            compute, copies, outputs = self._fixed(cast_feeds(feeds, casts), call == "io-binding-fixed")
            return Parts(partial(_copy_and_return, copies, feeds, compute), lambda _computed: outputs)
        request = self._compiled.create_infer_request()

        def prepare() -> Callable[[], Any]:
            arrays = cast_feeds(feeds, casts)
            for name, array in arrays.items():
                request.set_tensor(name, self._tensor(array))
            return partial(_compute, request, arrays)

        return Parts(prepare, lambda results: [output.copy() for output in results.values()])

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name, from a copy of the model that outputs all of them."""
        revealed, folder = reveal_all(self._model)
        with folder:
            session = open_session(revealed, self._options)
            values = session.bind("run", feeds, {})()
        return {**feeds, **dict(zip(session.output_names, values, strict=True))}

    def _check(self, call: str, feeds: Arrays) -> None:
        """Reject inputs that are constants for OpenVINO, and layouts that the style does not support."""
        for name in feeds:
            if name not in self.input_names:
                raise SubjectError("skipped", f"initializer {name!r} is a constant in OpenVINO, not an input")
        RUNTIME.call(call).check(feeds)

    def _bind_run(self, feeds: Arrays, casts: Casts) -> Call:
        """Like `compiled_model(feeds)`: inputs are shared if possible, outputs are new arrays."""
        compiled = self._compiled
        if casts:
            return lambda: list(compiled(cast_feeds(feeds, casts)).values())
        given = dict(feeds)
        return lambda: list(compiled(given).values())

    def _bind_fixed(self, feeds: Arrays, casts: Casts, copied: bool) -> Call:
        compute, buffers, outputs = self._fixed(cast_feeds(feeds, casts), copied)
        copies = [(buffer, feeds[name]) for name, buffer in buffers.items()]

        def call() -> list[Array]:
            for buffer, array in copies:
                np.copyto(buffer, array, casting="unsafe")
            compute()
            return outputs

        return call

    def _fixed(self, feeds: Arrays, copied: bool) -> tuple[Callable[[], Any], dict[str, Array], list[Array]]:
        """A request with bound inputs and outputs: its computation, the buffers to copy into, and the outputs."""
        request = self._compiled.create_infer_request()
        arrays = {name: array.copy() for name, array in feeds.items()} if copied else dict(feeds)
        for name, array in arrays.items():
            request.set_tensor(name, self._tensor(array))
        outputs = [output.copy() for output in request.infer().values()]
        for place, output in enumerate(outputs):
            request.set_output_tensor(place, self._tensor(output))
        return partial(_compute, request, arrays), arrays if copied else {}, outputs

    def _tensor(self, array: Array) -> Any:
        """OpenVINO's view of an array; it cannot share read-only or non-contiguous memory."""
        shared = array.flags.writeable and array.flags.c_contiguous
        return self._library.Tensor(array if shared else np.array(array, order="C"), shared_memory=shared)


def _copy_and_return(buffers: Arrays, feeds: Arrays, compute: Callable[[], Any]) -> Callable[[], Any]:
    for name, buffer in buffers.items():
        np.copyto(buffer, feeds[name], casting="unsafe")
    return compute


def _compute(request: Any, _keep: Arrays) -> Any:
    """Compute on the bound inputs; `_keep` holds the arrays behind them, and the results are not copied."""
    return request.infer(None, True, True)


_NOISE = (
    "Exception from ",
    "Check '",
    "FrontEnd API failed",
    "Model wasn't fully converted",
    "Summary:",
    "To facilitate",
)
_UNSUPPORTED = "-- No conversion rule found for operations: "


def explain(error: BaseException) -> str:
    """OpenVINO's message as one line, without source paths."""
    lines = [line.strip() for line in str(error).splitlines()]
    told = [line for line in lines if line and not line.startswith(_NOISE)]
    missing = [line.removeprefix(_UNSUPPORTED) for line in told if line.startswith(_UNSUPPORTED)]
    if missing:
        return f"unsupported operators: {', '.join(missing)}"
    return one_line(" ".join(told) or str(error))
