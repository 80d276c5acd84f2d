"""The runtime `ort`: onnxruntime, in every style in which Python can call it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onnxperf.errors import BadFeed, BadModel, BadOption, MissingExtra, SubjectError
from onnxperf.records import OptLevel, Recording, SessionOptions
from onnxperf.runtimes.base import Array, Arrays, Call, Parts, Session, as_it_is, cast_feeds

try:
    import onnxruntime
    from onnxruntime.capi import _pybind_state as ort_c
except ImportError as error:
    raise MissingExtra("onnxruntime", "cpu") from error

_LEVELS: dict[OptLevel, str] = {
    "disable": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}
_SPINNING = "session.intra_op.allow_spinning"
_EXTERNAL = "session.optimized_model_external_initializers"


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> OrtSession:
    """Create a session with exactly the options asked for, which may record what it does."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3  # errors reach us as exceptions; warnings would only clutter the terminal
    settings.intra_op_num_threads = options.threads or 1
    settings.inter_op_num_threads = 1
    settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, _LEVELS[options.opt_level])
    for key, value in options.options.items():
        settings.add_session_config_entry(key, value)
    if options.shared_pool:
        _share_pool(options.threads or 1)
        settings.use_per_session_threads = False
    if recording is not None:
        _record(settings, recording)
    provider = provider_name(options.provider)
    providers = list(dict.fromkeys([provider, "CPUExecutionProvider"]))
    source = model if isinstance(model, bytes) else str(model)
    try:
        session = onnxruntime.InferenceSession(source, settings, providers=providers)
    except Exception as error:
        raise BadModel(f"onnxruntime {onnxruntime.__version__} cannot load the model: {explain(error)}") from error
    if session.get_providers()[0] != provider:
        raise BadOption(f"provider {options.provider!r} did not start; onnxruntime fell back to the CPU")
    session.disable_fallback()
    return OrtSession(session, model, options)


@cache
def _share_pool(threads: int) -> None:
    """One thread pool for all sessions of this process that ask for it; onnxruntime takes its size only once."""
    onnxruntime.set_global_thread_pool_sizes(threads, 1)


def _record(settings: Any, recording: Recording) -> None:
    """Have the session write a trace, or the graph that it executes, or both."""
    if recording.trace_prefix is not None:
        settings.enable_profiling = True
        settings.profile_file_prefix = recording.trace_prefix
    if recording.executed_path is not None:
        settings.optimized_model_filepath = recording.executed_path
        settings.add_session_config_entry(f"{_EXTERNAL}_file_name", f"{Path(recording.executed_path).name}.data")
        settings.add_session_config_entry(f"{_EXTERNAL}_min_size_in_bytes", str(recording.smallest_external_bytes))


def provider_name(name: str) -> str:
    """Onnxruntime's own name of a provider that is available here."""
    available: list[str] = onnxruntime.get_available_providers()
    short = {full.removesuffix("ExecutionProvider").lower(): full for full in available}
    if name in available:
        return name
    if name.lower() not in short:
        raise BadOption.unknown("or unavailable provider", name, sorted(short))
    return short[name.lower()]


class OrtSession(Session):
    """A model in onnxruntime; all call styles share it."""

    def __init__(self, session: Any, model: Path | bytes, options: SessionOptions) -> None:
        self.ort = session
        self._model = model
        self._options = options
        self.input_names = tuple(i.name for i in session.get_inputs())
        self.output_names = tuple(o.name for o in session.get_outputs())
        used = session.get_session_options()
        self.conditions = {
            "onnxruntime": onnxruntime.__version__,
            "providers": ", ".join(session.get_providers()),
            "threads": used.intra_op_num_threads,
            "inter_op_threads": used.inter_op_num_threads,
            "opt_level": options.opt_level,
            "spinning": options.options.get(_SPINNING, "1") == "1",
            **({"thread_pool": "shared"} if options.shared_pool else {}),
            **{f"option {key}": value for key, value in options.options.items()},
        }

    def end_recording(self) -> str:
        """Write the trace; returns its file."""
        file = str(self.ort.end_profiling())
        if not Path(file).is_file():  # onnxruntime loses a trace that it cannot write without a word
            raise SubjectError("failed", f"onnxruntime could not write its trace to {file!r}")
        return file

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name, from a copy of the model in which all of them are outputs."""
        revealed, folder = reveal_all(self._model)
        with folder:
            session = open_session(revealed, self._options)
            values = session.ort.run(None, dict(feeds))
        return {**feeds, **dict(zip(session.output_names, values, strict=True))}

    def bind(self, call: str, feeds: Arrays, casts: Mapping[str, str]) -> Call:
        """Prepare a call in one of the styles of `CALLS`."""
        style = _STYLES[call]
        if style.needs_tensors:
            _require_tensors(self, feeds, call)
        if style.needs_buffers:
            _require_buffers(feeds, call)
        if not casts or style.casts_by_copy:
            return style.bind(self, feeds, casts)
        if not style.copies:
            raise SubjectError("skipped", f"{call} makes no copy, so it cannot cast its inputs")

        def call_on_copies() -> Sequence[Any]:
            return style.bind(self, cast_feeds(feeds, casts), {})()

        return call_on_copies

    def parts(self, call: str, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
        """Divide a call in the style that `bind` accepted for these inputs."""
        return _STYLES[call].split(self, feeds, casts)


def _bind_run(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    del casts
    return partial(session.ort.run, None, dict(feeds))


def _bind_run_c(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    del casts
    return partial(session.ort._sess.run, list(session.output_names), dict(feeds), None)


def _bind_ort_values(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    del casts
    device = _cpu()
    values = {name: ort_c.OrtValue.ortvalue_from_numpy(array, device) for name, array in feeds.items()}
    call = partial(session.ort._sess.run_with_ort_values, values, list(session.output_names), None)
    vars(call)["arrays"] = feeds  # the values only point into them, and a cast has left nobody else who holds them
    return call


def _bind_io_binding(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    """Bind pointers anew in every call, as a server does whose inputs arrive in new arrays."""
    del casts
    binding, device, run = ort_c.SessionIOBinding(session.ort._sess), _cpu(), session.ort._sess.run_with_iobinding
    inputs, outputs = list(feeds.items()), session.output_names

    def call() -> list[Any]:
        for name, array in inputs:
            binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
        for name in outputs:
            binding.bind_output(name, device)
        run(binding, None)
        values = binding.get_outputs()
        # By index: the end of an iteration over this C++ vector is an exception that costs 30 us.
        return [values[i].numpy() for i in range(len(outputs))]

    return call


def _bind_fixed(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    """Copy the inputs into buffers that stay bound; the outputs are overwritten by the next call."""
    binding, buffers, outputs = _fixed_buffers(session, cast_feeds(feeds, casts))
    copies = [(buffers[name], array) for name, array in feeds.items()]
    run = session.ort._sess.run_with_iobinding

    def call() -> list[Array]:
        for buffer, array in copies:
            np.copyto(buffer, array, casting="unsafe")
        run(binding, None)
        return outputs

    return call


def _bind_inplace(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Call:
    """Call on buffers that stay bound, without any copy: whoever makes the inputs writes into the buffers."""
    del casts
    binding, buffers, outputs = _fixed_buffers(session, feeds)
    run = session.ort._sess.run_with_iobinding

    # The buffers are defaults of the call to keep them alive as long as the addresses that are bound to them.
    def call(_keep: dict[str, Array] = buffers) -> list[Array]:
        run(binding, None)
        return outputs

    return call


def _split_run(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
    """Through onnxruntime's own values; where these cannot hold the data, all but the cast counts as computing."""
    try:
        _require_tensors(session, feeds, "run")
    except SubjectError:
        return Parts(lambda: _bind_run(session, cast_feeds(feeds, casts), {}), as_it_is)
    return _split_ort_values(session, feeds, casts)


def _split_ort_values(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
    def fetch(values: Any) -> list[Any]:
        return [values[i].numpy() for i in range(len(values))]

    return Parts(lambda: _bind_ort_values(session, cast_feeds(feeds, casts), {}), fetch)


def _split_io_binding(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
    binding, device, run = ort_c.SessionIOBinding(session.ort._sess), _cpu(), session.ort._sess.run_with_iobinding
    outputs = session.output_names

    def prepare() -> Callable[[], Any]:
        arrays = cast_feeds(feeds, casts)
        for name, array in arrays.items():
            binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
        for name in outputs:
            binding.bind_output(name, device)

        def compute(_keep: dict[str, Array] = arrays) -> None:
            run(binding, None)

        return compute

    def fetch(_nothing: Any) -> list[Any]:
        values = binding.get_outputs()
        return [values[i].numpy() for i in range(len(outputs))]

    return Parts(prepare, fetch)


def _split_fixed(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
    binding, buffers, outputs = _fixed_buffers(session, cast_feeds(feeds, casts))
    copies = [(buffers[name], array) for name, array in feeds.items()]
    run = partial(session.ort._sess.run_with_iobinding, binding, None)

    def prepare() -> Callable[[], Any]:
        for buffer, array in copies:
            np.copyto(buffer, array, casting="unsafe")
        return run

    return Parts(prepare, lambda _nothing: outputs)


def _split_inplace(session: OrtSession, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
    call = _bind_inplace(session, feeds, casts)
    return Parts(lambda: call, as_it_is)


def _fixed_buffers(session: OrtSession, feeds: Arrays) -> tuple[Any, dict[str, Array], list[Array]]:
    """Bind copies of the inputs, and outputs of the shapes that these inputs give."""
    results = session.ort.run(None, dict(feeds))
    for name, result in zip(session.output_names, results, strict=True):
        if not isinstance(result, np.ndarray) or result.dtype.hasobject:
            raise SubjectError("failed", f"output {name!r} is no numeric tensor, so it cannot be bound to a buffer")
    buffers = {name: array.copy() for name, array in feeds.items()}
    outputs = [result.copy() for result in results]
    binding, device = ort_c.SessionIOBinding(session.ort._sess), _cpu()
    for name, array in buffers.items():
        binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
    for name, array in zip(session.output_names, outputs, strict=True):
        binding.bind_output(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
    return binding, buffers, outputs


def reveal_all(model: Path | bytes) -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """A copy of a model, beside which its external data are found, that returns every tensor."""
    import onnx

    proto = onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)
    known = {output.name for output in proto.graph.output}
    inner = [name for node in proto.graph.node for name in node.output if name and name not in known]
    outputs = [*(onnx.ValueInfoProto(name=name) for name in inner), *proto.graph.output]
    del proto.graph.output[:]
    proto.graph.output.extend(outputs)
    folder = tempfile.TemporaryDirectory(prefix="onnxperf-")
    path = Path(folder.name) / "revealed.onnx"
    large = proto.ByteSize() > 2**30
    onnx.save_model(proto, path, save_as_external_data=large)
    return path, folder


class _Style(NamedTuple):
    bind: Callable[[OrtSession, Arrays, Mapping[str, str]], Call]
    split: Callable[[OrtSession, Arrays, Mapping[str, str]], Parts]
    needs_tensors: bool = False
    """Inputs and outputs travel as onnxruntime's own values, of which Python can read and write only tensors."""
    needs_buffers: bool = False
    """Hands addresses to onnxruntime, so inputs must be contiguous numbers."""
    copies: bool = True
    casts_by_copy: bool = False


_STYLES = {
    "run": _Style(_bind_run, _split_run),
    "run-c": _Style(_bind_run_c, _split_run),
    "ort-values": _Style(_bind_ort_values, _split_ort_values, needs_tensors=True),
    "io-binding": _Style(_bind_io_binding, _split_io_binding, needs_tensors=True, needs_buffers=True),
    "io-binding-fixed": _Style(_bind_fixed, _split_fixed, needs_tensors=True, needs_buffers=True, casts_by_copy=True),
    "io-binding-inplace": _Style(_bind_inplace, _split_inplace, needs_tensors=True, needs_buffers=True, copies=False),
}
CALLS = tuple(_STYLES)


def _require_tensors(session: OrtSession, feeds: Arrays, call: str) -> None:
    for name, array in feeds.items():
        if array.dtype.hasobject or array.dtype.kind in "US":
            raise SubjectError("failed", f"input {name!r} holds strings, which {call} cannot bind")
    for output in session.ort.get_outputs():
        if not output.type.startswith("tensor("):
            raise SubjectError("failed", f"output {output.name!r} is a {output.type}, which {call} cannot return")


def _require_buffers(feeds: Arrays, call: str) -> None:
    for name, array in feeds.items():
        if not array.flags.c_contiguous:
            raise BadFeed(f"input {name!r} is not contiguous; {call} needs np.ascontiguousarray({name})")


def _cpu() -> Any:
    return ort_c.OrtDevice(ort_c.OrtDevice.cpu(), ort_c.OrtDevice.default_memory(), 0)


_EXPLANATIONS = (
    (
        r"Opset (\d+) is under development.*for domain (\S+) is till opset (\d+)",
        r"opset \1 of domain \2 is newer than opset \3, the latest it supports",
    ),
    (r"(\S+):(\S+)\(-?\d+\) is not a registered function/op", r"operator \2 of domain \1 is unknown"),
    (r"No opset import for domain '([^']+)'", r"domain \1 has no opset import in the model"),
    (
        r'"([^"]+)", -?\d+\) : .*No Op registered for (\S+) with domain_version of (\d+)',
        r"operator \2 of domain \1 does not exist in opset \3",
    ),
    (r"No Op registered for (\S+) with domain_version of (\d+)", r"operator \1 does not exist in opset \2"),
    (r"Unsupported model IR version: (\d+), max supported IR version: (\d+)", r"IR version \1 is newer than \2"),
    (r"Could not find an implementation for (\S+?)\((\d+)\)", r"operator \1 (opset \2) has no implementation"),
)


def explain(error: BaseException) -> str:
    """Onnxruntime's message as one line, without source paths and C++ signatures."""
    text = " ".join(str(error).split())
    for pattern, explanation in _EXPLANATIONS:
        found = re.search(pattern, text)
        if found:
            return found.expand(explanation)
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    return re.sub(r"\S*/onnxruntime/core/\S+ .*?\) (?=[A-Z])", "", text)
