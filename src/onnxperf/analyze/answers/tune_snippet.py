"""Settings as Python that needs only onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnxperf.records.tune import TuneChoice

_SWITCHES = {"on": "True", "off": "False"}
_FIELDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "threads": ("intra_op_num_threads", {}),
    "inter_op_threads": ("inter_op_num_threads", {}),
    "opt_level": (
        "graph_optimization_level",
        {
            "disable": "onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL",
            "basic": "onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC",
            "extended": "onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED",
            "layout": "onnxruntime.GraphOptimizationLevel.ORT_ENABLE_LAYOUT",
            "all": "onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL",
        },
    ),
    "execution_mode": (
        "execution_mode",
        {
            "parallel": "onnxruntime.ExecutionMode.ORT_PARALLEL",
            "sequential": "onnxruntime.ExecutionMode.ORT_SEQUENTIAL",
        },
    ),
    "execution_order": (
        "execution_order",
        {
            "default": "onnxruntime.ExecutionOrder.DEFAULT",
            "priority-based": "onnxruntime.ExecutionOrder.PRIORITY_BASED",
            "memory-efficient": "onnxruntime.ExecutionOrder.MEMORY_EFFICIENT",
        },
    ),
    "mem_pattern": ("enable_mem_pattern", _SWITCHES),
    "mem_reuse": ("enable_mem_reuse", _SWITCHES),
    "deterministic": ("use_deterministic_compute", _SWITCHES),
}
"""Settings that are attributes of onnxruntime's SessionOptions, and their values there; empty: as they are."""
_EXACT_ARENA = (
    'place = onnxruntime.OrtMemoryInfo("Cpu", onnxruntime.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, '
    "onnxruntime.OrtMemType.DEFAULT)",
    'onnxruntime.create_and_register_allocator(place, onnxruntime.OrtArenaCfg({"arena_extend_strategy": 1}))',
    'options.add_session_config_entry("session.use_env_allocators", "1")',
)
_ARENA: Mapping[str, tuple[str, ...]] = {
    "off": ("options.enable_cpu_mem_arena = False",),
    "same-as-requested": _EXACT_ARENA,
}
_BINDING = (
    "binding = session.io_binding()",
    "for name, array in inputs.items():",
    "    binding.bind_cpu_input(name, array)",
    "for output in session.get_outputs():",
    "    binding.bind_output(output.name)",
    "session.run_with_iobinding(binding)",
    "outputs = binding.copy_outputs_to_cpu()",
)
_FIXED = (
    "buffers = {name: array.copy() for name, array in inputs.items()}  # made once",
    "outputs = session.run(None, buffers)  # overwritten by every call",
    "binding = session.io_binding()",
    "for name, array in buffers.items():",
    '    binding.bind_input(name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)',
    "for output, array in zip(session.get_outputs(), outputs):",
    '    binding.bind_output(output.name, "cpu", 0, array.dtype, array.shape, array.ctypes.data)',
)
_CALLS: Mapping[str, tuple[str, ...]] = {
    "run": ("outputs = session.run(None, inputs)",),
    "run-c": (
        "names = [output.name for output in session.get_outputs()]",
        "outputs = session._sess.run(names, inputs, None)",
    ),
    "ort-values": (
        "values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}",
        "outputs = [value.numpy() for value in session.run_with_ort_values(None, values)]",
    ),
    "io-binding": _BINDING,
    "io-binding-fixed": (
        *_FIXED,
        "for name, array in inputs.items():  # of every call",
        "    buffers[name][...] = array",
        "session.run_with_iobinding(binding)",
    ),
    "io-binding-inplace": (
        *_FIXED,
        "session.run_with_iobinding(binding)  # after new values were written into buffers",
    ),
}
_OTHERS: Mapping[str, tuple[str, ...]] = {
    "openvino": (
        "import openvino",
        "",
        "model = openvino.Core().compile_model({path}, 'CPU', {{'INFERENCE_NUM_THREADS': {threads}}})",
        "outputs = model(inputs)",
    ),
    "": (
        "import onnxperf",
        "",
        "runner = onnxperf.load({path}, runtime={runtime}, threads={threads})",
        "outputs = runner.run(inputs)",
    ),
}


def snippet(choice: TuneChoice, path: str, threads: int, call: str = "run") -> str:
    """A program that opens a model with the settings of a choice and calls it once on `inputs`."""
    if choice.runtime:
        lines = _OTHERS.get(choice.runtime, _OTHERS[""])
        number = choice.settings.get("threads", threads)
        return "\n".join(each.format(path=repr(path), runtime=repr(choice.runtime), threads=number) for each in lines)
    settings = list(_settings(choice.settings))
    session = ["options"] if settings else []
    names = choice.settings.get("disabled_optimizers", "")
    extra = [f"disabled_optimizers={names.split('+')!r}"] if names else []
    arguments = ", ".join([repr(path), *session, 'providers=["CPUExecutionProvider"]', *extra])
    return "\n".join(
        [
            "import onnxruntime",
            "",
            *(["options = onnxruntime.SessionOptions()", *settings] if settings else []),
            f"session = onnxruntime.InferenceSession({arguments})",
            *_call(choice.settings, choice.call or call),
        ]
    )


def _settings(settings: Mapping[str, str]) -> Iterator[str]:
    for name, value in settings.items():
        if name in _FIELDS:
            field, values = _FIELDS[name]
            yield f"options.{field} = {values.get(value, value)}"
        elif name == "arena":
            yield from _ARENA.get(value, ())
        elif name.startswith("dim."):
            yield f"options.add_free_dimension_override_by_name({name.removeprefix('dim.')!r}, {value})"
        elif name != "disabled_optimizers":
            yield f"options.add_session_config_entry({name!r}, {value!r})"


def _call(settings: Mapping[str, str], call: str) -> Iterator[str]:
    if settings.get("arena") != "shrinkage":
        yield from _CALLS[call]
        return
    yield "run_options = onnxruntime.RunOptions()"
    yield 'run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")'
    yield "outputs = session.run(None, inputs, run_options)"
