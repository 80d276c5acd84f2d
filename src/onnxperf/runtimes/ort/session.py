"""A model in onnxruntime: its session, what it records, and why it rejects a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import onnxruntime

from onnxperf.errors import BadModel, BadOption, SubjectError
from onnxperf.records.base import Scalar
from onnxperf.records.options import ExecutionOrder, OptLevel, Recording, SessionOptions
from onnxperf.runtimes.base import Arrays, Call, Caller, Casts, Parts, Session, cast_feeds, reveal_all
from onnxperf.runtimes.ort.calls import CALLS, OrtCall, require_tensors
from onnxperf.wording.names import one_line

onnxruntime.disable_telemetry_events()  # versions that ignore the variable set in __init__.py

VERSION = str(onnxruntime.__version__)
_LEVELS: dict[OptLevel, str] = {
    "disable": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "extended": "ORT_ENABLE_EXTENDED",
    "layout": "ORT_ENABLE_LAYOUT",
    "all": "ORT_ENABLE_ALL",
}
_ORDERS: dict[ExecutionOrder, str] = {
    "default": "DEFAULT",
    "priority-based": "PRIORITY_BASED",
    "memory-efficient": "MEMORY_EFFICIENT",
}
_SPINNING = "session.intra_op.allow_spinning"
_EXTERNAL = "session.optimized_model_external_initializers"


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> OrtSession:
    """Create a session with exactly the given options, which may record what it does."""
    settings = _settings(options)
    if recording is not None:
        _record(settings, recording)
    provider = provider_name(options.provider)
    providers = list(dict.fromkeys([provider, "CPUExecutionProvider"]))
    of_providers = [options.provider_options, *({} for _ in providers[1:])]
    source = model if isinstance(model, bytes) else str(model)
    try:
        session = onnxruntime.InferenceSession(
            source,
            settings,
            providers=providers,
            provider_options=of_providers,
            disabled_optimizers=list(options.disabled_optimizers),
        )
    except Exception as error:
        raise BadModel(f"onnxruntime {onnxruntime.__version__} cannot load the model: {explain(error)}") from error
    if session.get_providers()[0] != provider:
        raise BadOption(f"provider {options.provider!r} could not be started; onnxruntime fell back to the CPU")
    session.disable_fallback()
    return OrtSession(session, model, options)


def _settings(options: SessionOptions) -> onnxruntime.SessionOptions:
    """Onnxruntime's own options object; options of newer releases are set only if requested."""
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3  # errors arrive as exceptions; warnings would only clutter the terminal
    settings.intra_op_num_threads = options.threads or 1
    settings.inter_op_num_threads = options.inter_op_threads
    settings.graph_optimization_level = _level(options.opt_level)
    settings.execution_mode = getattr(onnxruntime.ExecutionMode, f"ORT_{options.execution_mode.upper()}")
    settings.execution_order = getattr(onnxruntime.ExecutionOrder, _ORDERS[options.execution_order])
    settings.enable_mem_pattern = options.mem_pattern
    settings.enable_mem_reuse = options.mem_reuse
    settings.enable_cpu_mem_arena = options.arena != "off"
    if options.deterministic:
        settings.use_deterministic_compute = True
    if options.arena == "same-as-requested":
        _share_exact_arena()
        settings.add_session_config_entry("session.use_env_allocators", "1")
    for key, value in options.options.items():
        settings.add_session_config_entry(key, value)
    for name, size in options.fixed_dims.items():
        settings.add_free_dimension_override_by_name(name, size)
    for library in options.custom_ops:
        try:
            settings.register_custom_ops_library(library)
        except Exception as error:
            raise BadOption(f"custom operators of {library!r} cannot be loaded: {explain(error)}") from error
    if options.shared_pool:
        _share_pool(options.threads or 1)
        settings.use_per_session_threads = False
    return settings


def _level(name: OptLevel) -> Any:
    """Onnxruntime's constant for an optimization level; not every version has all of them."""
    level = getattr(onnxruntime.GraphOptimizationLevel, _LEVELS[name], None)
    if level is None:
        raise SubjectError("failed", f"onnxruntime {onnxruntime.__version__} has no optimization level {name!r}")
    return level


@cache
def _share_pool(threads: int) -> None:
    """One thread pool for all sessions of this process that request it; onnxruntime reads its size only once."""
    if not hasattr(onnxruntime, "set_global_thread_pool_sizes"):
        raise SubjectError("failed", f"sessions of onnxruntime {onnxruntime.__version__} cannot share a thread pool")
    onnxruntime.set_global_thread_pool_sizes(threads, 1)


@cache
def _share_exact_arena() -> None:
    """An arena that allocates no more than requested; onnxruntime supports it only per process."""
    kind = onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    place = onnxruntime.OrtMemoryInfo("Cpu", kind, 0, onnxruntime.OrtMemType.DEFAULT)
    onnxruntime.create_and_register_allocator(place, onnxruntime.OrtArenaCfg({"arena_extend_strategy": 1}))


def _record(settings: onnxruntime.SessionOptions, recording: Recording) -> None:
    """Make the session write a trace, or the executed graph, or both."""
    if recording.trace_prefix is not None:
        settings.enable_profiling = True
        settings.profile_file_prefix = recording.trace_prefix
    if recording.executed_path is not None:
        settings.optimized_model_filepath = recording.executed_path
        settings.add_session_config_entry(f"{_EXTERNAL}_file_name", f"{Path(recording.executed_path).name}.data")
        settings.add_session_config_entry(f"{_EXTERNAL}_min_size_in_bytes", str(recording.smallest_external_bytes))


def available_providers() -> list[str]:
    """The providers that onnxruntime can run on here, in its order of preference."""
    return [str(name) for name in onnxruntime.get_available_providers()]


def provider_name(name: str) -> str:
    """Onnxruntime's name for a provider that is available here."""
    available = available_providers()
    short = {full.removesuffix("ExecutionProvider").lower(): full for full in available}
    if name in available:
        return name
    if name.lower() not in short:
        raise BadOption.unknown("or unavailable provider", name, sorted(short))
    return short[name.lower()]


class OrtSession(Session):
    """A model in onnxruntime; all call styles share it."""

    def __init__(self, session: onnxruntime.InferenceSession, model: Path | bytes, options: SessionOptions) -> None:
        self.ort = session
        self._model = model
        self._options = options
        self._run_entries = dict(options.run_options)
        if options.arena == "shrinkage":
            self._run_entries["memory.enable_memory_arena_shrinkage"] = "cpu:0"
        self.run_options = self.new_run_options() if self._run_entries else None
        """For every call; None if none are set."""
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
            **_unusual(options),
            **{f"option {key}": value for key, value in options.options.items() if key != _SPINNING},
        }

    def new_run_options(self) -> onnxruntime.RunOptions:
        """New run options, for a call that sets more of them."""
        run_options = onnxruntime.RunOptions()
        for key, value in self._run_entries.items():
            run_options.add_run_config_entry(key, value)
        return run_options

    def end_recording(self) -> str:
        """Write the trace; returns its file."""
        file = str(self.ort.end_profiling())
        if not Path(file).is_file():  # onnxruntime silently drops a trace that it cannot write
            raise SubjectError("failed", f"onnxruntime could not write its trace to {file!r}")
        return file

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name, from a copy of the model that outputs all of them."""
        revealed, folder = reveal_all(self._model)
        with folder:
            session = open_session(revealed, self._options)
            values = session.ort.run(None, dict(feeds))
        return {**feeds, **dict(zip(session.output_names, values, strict=True))}

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        """Prepare a call in one of the styles of `CALLS`."""
        style = self._style(call, feeds)
        if not casts or style.casts_by_copy:
            return style.bind(self, feeds, casts)
        if not style.copies:
            raise SubjectError("skipped", f"{call} does not copy its inputs, so it cannot cast them")

        def call_on_copies() -> Sequence[Any]:
            return style.bind(self, cast_feeds(feeds, casts), {})()

        return call_on_copies

    def caller(self, call: str, feeds: Arrays) -> Caller:
        """A caller that keeps what the style can reuse between calls with similar inputs."""
        return self._style(call, feeds).caller(self, feeds)

    def _style(self, call: str, feeds: Arrays) -> OrtCall:
        """A call style that supports these inputs."""
        style = CALLS[call]
        if style.needs_tensors:
            require_tensors(self, feeds)
        style.check(feeds)
        return style

    def parts(self, call: str, feeds: Arrays, casts: Casts) -> Parts:
        """Split a call in the style that `bind` accepted for these inputs."""
        return CALLS[call].split(self, feeds, casts)


_SHOWN = ("arena", "execution_mode", "execution_order", "mem_pattern", "mem_reuse", "deterministic")
_SHOWN_LISTS = ("disabled_optimizers", "custom_ops")
_SHOWN_TABLES = {"fixed_dims": "fixed", "provider_options": "provider option", "run_options": "run option"}


def _unusual(options: SessionOptions) -> dict[str, Scalar]:
    """Settings that differ from onnxruntime's defaults."""
    usual = SessionOptions()
    found: dict[str, Scalar] = {
        name: getattr(options, name) for name in _SHOWN if getattr(options, name) != getattr(usual, name)
    }
    found |= {name: ", ".join(getattr(options, name)) for name in _SHOWN_LISTS if getattr(options, name)}
    for field, words in _SHOWN_TABLES.items():
        found |= {f"{words} {name}": value for name, value in getattr(options, field).items()}
    return found


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
    text = one_line(error)
    for pattern, explanation in _EXPLANATIONS:
        found = re.search(pattern, text)
        if found:
            return found.expand(explanation)
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    return re.sub(r"\S*/onnxruntime/core/\S+ .*?\) (?=[A-Z])", "", text)
