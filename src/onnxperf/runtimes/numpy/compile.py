"""Compiles steps to the source of one Python function; memory is released early, and reused if provably safe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

import numpy as np
import onnx
from onnx import inliner

from onnxperf.model.cost import inferred, without_weights
from onnxperf.model.functions import check_functions
from onnxperf.model.graph import short_domain
from onnxperf.runtimes.numpy.base import Value
from onnxperf.runtimes.numpy.faults import compiling, failed_run
from onnxperf.runtimes.numpy.lower import Context, Lowered, Step, lower
from onnxperf.runtimes.numpy.order import sort_nodes
from onnxperf.runtimes.numpy.passes import fused

Mode = Literal["run", "keep", "time"]
"""`run`: as fast as possible. `keep`: returns every tensor. `time`: reads the clock after every node."""


@dataclass(eq=False)
class Program:
    """A compiled graph."""

    source: str
    function: Callable[..., Any]
    """Returns a list: outputs (mode `run`), all values (mode `keep`), or the clock after every node (mode `time`)."""
    parameters: tuple[str, ...]
    steps: list[Step]
    kept: tuple[str, ...]
    """Names of the values that mode `keep` returns."""


@dataclass(eq=False)
class Compiler:
    """Compiles one model in several modes; the graph is lowered once per set of overridden initializers."""

    model: onnx.ModelProto
    fuse: bool = True
    """Whether to run the passes over the lowered graph; fused steps cannot return every tensor."""
    fallbacks: set[str] = field(default_factory=set)
    _outline: onnx.ModelProto = field(init=False)
    """Nodes in order, without local functions, and with types as far as they can be inferred; it excludes weights."""
    _lowered: dict[frozenset[str], Lowered] = field(default_factory=dict)
    _programs: dict[tuple[frozenset[str], Mode], Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort the nodes, inline local functions, and infer types and shapes as far as possible."""
        with compiling(lambda: "the graph"):
            outline = without_weights(self.model)
            sort_nodes(outline)
        with compiling(lambda: "its local functions"):
            check_functions(outline, "the model")
            self._outline = _inferred(inliner.inline_local_functions(outline) if outline.functions else outline)

    @property
    def lowered(self) -> Lowered:
        """The graph as executed steps, with no initializer overridden."""
        self.program()
        return self._lowered[frozenset()]

    def program(self, overridden: Iterable[str] = (), mode: Mode = "run") -> Program:
        """The compiled graph; initializers in `overridden` are parameters, all others are bound."""
        chosen = frozenset(overridden)
        key = (chosen, mode)
        if key not in self._programs:
            with compiling(lambda: "the graph"):
                self._programs[key] = emit(self._steps(chosen, mode), mode)
        return self._programs[key]

    def _steps(self, overridden: frozenset[str], mode: Mode) -> Lowered:
        """Steps are fused, unless every tensor is requested: those between fused nodes would be missing.

        The graph is then lowered again, rather than stored twice with all of its weights.
        """
        if mode == "keep":
            return self._lower(overridden)
        if overridden not in self._lowered:
            self._lowered[overridden] = self._passed(self._lower(overridden))
        return self._lowered[overridden]

    def _passed(self, lowered: Lowered) -> Lowered:
        return fused(lowered) if self.fuse else lowered

    def _lower(self, overridden: frozenset[str]) -> Lowered:
        return lower(self._outline.graph, self._context(), overridden=overridden, holder=self.model.graph)

    def _context(self) -> Context:
        opsets = {short_domain(each.domain): each.version for each in self._outline.opset_import}
        return Context(opsets, self.fallbacks, lambda body: emit(self._passed(body), "run").function)


def _inferred(outline: onnx.ModelProto) -> onnx.ModelProto:
    """The model with inferred types; if inference fails, the model is compiled with fewer known types."""
    try:
        return inferred(outline)
    except Exception:
        return outline


def emit(lowered: Lowered, mode: Mode) -> Program:
    """Write and compile the source of a lowered graph."""
    writer = _Writer(lowered, mode)
    source = writer.source()
    code = compile(_guarded(source), "<onnxperf numpy runtime>", "exec")
    exec(code, writer.bound)  # noqa: S102 - the source is ours: no name of the model is in it
    return Program(
        source, writer.bound["run"], tuple(v.name for v in lowered.inputs), lowered.steps, tuple(kept_values(lowered))
    )


def _guarded(source: str) -> str:
    """The same function, which passes its errors to `fail`; this costs nothing as long as there are none."""
    head, body = source.split("\n", 1)
    return f"{head}\n  try:\n{body}  except Exception as error:\n    fail(error)\n"


_LINES_BEFORE_STEPS = 2
"""Lines of the guarded source before the first one of its body."""


class _Writer:
    """Names values and kernels, and decides what is released and overwritten."""

    def __init__(self, lowered: Lowered, mode: Mode) -> None:
        self._lowered = lowered
        self._mode = mode
        self.bound: dict[str, Any] = {"asarray": np.asarray, "clock": time.perf_counter_ns, "fail": self._fail}
        self._names: dict[int, str] = {}
        self._functions: dict[int, str] = {}
        self._parameters = {id(value) for value in lowered.inputs}
        self._last_use = last_uses(lowered)
        self._own = own_memory(lowered)
        self._read_until = memory_read_until(lowered, self._last_use)
        self._step_of_line: list[Step | None] = []

    def source(self) -> str:
        parameters = ", ".join(self._name(value) for value in self._lowered.inputs)
        lines = [f"def run({parameters}):"]
        if self._mode == "time":
            lines.append("    times = [clock()]")
        self._step_of_line = [None] * (len(lines) - 1)
        for index, step in enumerate(self._lowered.steps):
            lines += [f"    {line}" for line in self._step(index, step)]
            if self._mode == "time":
                lines.append("    times.append(clock())")
            self._step_of_line += [step] * (len(lines) - 1 - len(self._step_of_line))
        return "\n".join([*lines, f"    return {self._result()}", ""])

    def _fail(self, error: Exception) -> NoReturn:
        """Raise the error of a run, with the node at which it stopped."""
        place = -1 if error.__traceback__ is None else error.__traceback__.tb_lineno - _LINES_BEFORE_STEPS - 1
        step = self._step_of_line[place] if 0 <= place < len(self._step_of_line) else None
        named = failed_run(None if step is None else step.node.proto, error)
        if named is error:
            raise error
        raise named from error

    def _result(self) -> str:
        if self._mode == "time":
            return "times"
        if self._mode == "keep":
            # Values are returned in order; their names come from the model, and never enter the source.
            return "[" + ", ".join(self._name(value) for value in kept_values(self._lowered).values()) + "]"
        return "[" + ", ".join(map(self._output, self._lowered.outputs)) + "]"

    def _output(self, value: Value) -> str:
        """Numpy turns results without axes into scalars; an output is an array."""
        name = self._name(value)
        scalar = value.constant is None and value.dtype is not None and not value.rank
        return f"asarray({name})" if scalar else name

    def _step(self, index: int, step: Step) -> list[str]:
        arguments = ["None" if value is None else self._name(value) for value in step.arguments]
        if self._mode == "run":
            target = self._overwritten(index, step)
            if target is not None:
                arguments.append(self._name(target))
        used = step.outputs[: step.node.output_count]
        results = ", ".join("_" if value is None else self._name(value) for value in used)
        line = f"{results} = {self._function(step)}({', '.join(arguments)})" if used else ""
        if step.fused:  # operator names from a pass, never text from the model
            line += f"  # {step.node.op}"
        released = self._released(index, step) if self._mode != "keep" else []
        return [line] + ([f"del {', '.join(released)}"] if released else [])

    def _released(self, index: int, step: Step) -> list[str]:
        """Values that are not read after this step; parameters belong to the caller anyway."""
        local = [v for v in (*step.arguments, *step.outputs) if v is not None and v.constant is None]
        dead = [v for v in local if id(v) not in self._parameters and self._last_use[id(v)] <= index]
        return list(dict.fromkeys(map(self._name, dead)))

    def _overwritten(self, index: int, step: Step) -> Value | None:
        """An input that dies here and whose memory, shared with nothing, has the type and shape of the result."""
        result = step.outputs[0]
        if result is None or not step.kernel.overwrites or not result.rank or result.dtype is None:
            return None
        for position in step.kernel.overwrites:
            value = step.arguments[position] if position < len(step.arguments) else None
            if value is not None and _same_kind(value, result) and self._is_free(value, index):
                return value
        return None

    def _is_free(self, value: Value, index: int) -> bool:
        return id(value) in self._own and self._read_until.get(id(value), -1) <= index

    def _name(self, value: Value) -> str:
        if id(value) not in self._names:
            letter = "v" if value.constant is None else "c"
            name = f"{letter}{len(self._names)}"
            self._names[id(value)] = name
            if value.constant is not None:
                self.bound[name] = value.constant
        return self._names[id(value)]

    def _function(self, step: Step) -> str:
        function = step.kernel.function
        if id(function) not in self._functions:
            name = f"k{len(self._functions)}"
            self._functions[id(function)] = name
            self.bound[name] = function
        return self._functions[id(function)]


def kept_values(lowered: Lowered) -> dict[str, Value]:
    """The values that mode `keep` returns: inputs, every result in graph order, and constant outputs."""
    results = [value for step in lowered.steps for value in step.outputs if value is not None]
    constants = [value for value in lowered.outputs if value.constant is not None]
    return {value.name: value for value in (*lowered.inputs, *results, *constants)}


def own_memory(lowered: Lowered) -> set[int]:
    """Values whose memory the run allocated for them alone; memory that a body has seen may be shared."""
    fresh = (step.outputs for step in lowered.steps if step.kernel.result == "fresh")
    made = {id(value) for outputs in fresh for value in outputs if value is not None}
    return made - {id(value) for step in lowered.steps for value in step.captures}


def memory_read_until(lowered: Lowered, last_use: dict[int, int]) -> dict[int, int]:
    """The step after which each value's memory is no longer read, by itself or as part of others."""
    until = dict(last_use)
    for step in reversed(lowered.steps):
        if step.kernel.result == "fresh":
            continue
        latest = max((until[id(value)] for value in step.outputs if value is not None), default=-1)
        for value in step.arguments:
            if value is not None and value.constant is None:
                until[id(value)] = max(until[id(value)], latest)
    return until


def last_uses(lowered: Lowered) -> dict[int, int]:
    """The step after which each value is no longer read; outputs are always read."""
    last: dict[int, int] = {}
    for index, step in enumerate(lowered.steps):
        for value in step.outputs:
            if value is not None:
                last[id(value)] = index
        for value in step.arguments:
            if value is not None and value.constant is None:
                last[id(value)] = index
    for value in lowered.outputs:
        last[id(value)] = len(lowered.steps)
    return last


def _same_kind(value: Value, result: Value) -> bool:
    if value.dtype != result.dtype or value.shape is None or value.shape != result.shape:
        return False
    return all(dim is not None for dim in value.shape)
