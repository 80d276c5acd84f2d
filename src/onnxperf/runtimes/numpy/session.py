"""A model compiled to Python, as a session like those of the other runtimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxperf.model.graph import initialisers
from onnxperf.records.base import Scalar
from onnxperf.records.options import Recording, SessionOptions
from onnxperf.runtimes.base import Arrays, Call, Caller, Casts, Parts, Session, as_it_is, cast_feeds, owned, read_proto
from onnxperf.runtimes.numpy.compile import Compiler, Program
from onnxperf.runtimes.numpy.lower import Lowered


def open_session(model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> NumpySession:
    """Compile a model; threads are those of numpy's BLAS, which can only be set for a whole process."""
    del options, recording
    return NumpySession(read_proto(model))


class NumpySession(Session):
    """A compiled model; variants for overridden initializers are compiled on demand."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._compiler = Compiler(model)
        graph = model.graph
        initialised = initialisers(graph)
        self.input_names = tuple(i.name for i in graph.input if i.name not in initialised)
        self.output_names = tuple(o.name for o in graph.output)
        self.conditions = {"numpy": np.__version__}
        self._compiler.program()

    @property
    def source(self) -> str:
        """The generated Python source."""
        return self._compiler.program().source

    @property
    def lowered(self) -> Lowered:
        """The graph as steps."""
        return self._compiler.lowered

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Operators that run in onnx's reference evaluator."""
        return tuple(sorted(self._compiler.fallbacks))

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        """Prepare a call; there is only the style `run`."""
        del call
        program = self._compiler.program(self._overridden(feeds))
        if casts:
            return lambda: program.function(*_ordered(program, cast_feeds(feeds, casts)))
        return partial(program.function, *_ordered(program, feeds))

    def caller(self, call: str, feeds: Arrays) -> Caller:
        """The function itself; outputs that may be views of inputs or constants are copied."""
        del call
        program = self._compiler.program(self._overridden(feeds))
        function = _by_name(program)
        own = _own_names(program)
        shared = [place for place, name in enumerate(self.output_names) if name not in own]
        if not shared:
            return function

        def call_and_copy(arrays: Arrays) -> list[Any]:
            outputs = function(arrays)
            for place in shared:
                outputs[place] = owned(outputs[place])
            return outputs

        return call_and_copy

    def parts(self, call: str, feeds: Arrays, casts: Casts) -> Parts:
        """Casting, then the function, which returns arrays."""
        del call
        program = self._compiler.program(self._overridden(feeds))
        return Parts(lambda: partial(program.function, *_ordered(program, cast_feeds(feeds, casts))), as_it_is)

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of a run by name, in graph order."""
        program = self._compiler.program(self._overridden(feeds), "keep")
        return dict(zip(program.kept, program.function(*_ordered(program, feeds)), strict=True))

    def node_times(self, feeds: Arrays, repeat: int) -> list[dict[str, Scalar]]:
        """One row per node computed in every run: its place, its operator, and its time."""
        program = self._compiler.program(self._overridden(feeds), "time")
        arguments = _ordered(program, feeds)
        program.function(*arguments)
        clocks = np.array([program.function(*arguments) for _ in range(max(repeat, 1))], dtype=np.int64)
        times = np.diff(clocks, axis=1)
        medians = np.median(times, axis=0)
        return [
            {
                "index": index,
                "name": step.node.proto.name,
                "op_type": step.node.op,
                "median_ns": float(medians[index]),
                "min_ns": int(times[:, index].min()),
                "share": float(medians[index] / medians.sum()),
            }
            for index, step in enumerate(program.steps)
        ]

    def _overridden(self, feeds: Arrays) -> list[str]:
        return [name for name in feeds if name not in self.input_names]


def _ordered(program: Program, feeds: Mapping[str, Any]) -> list[Any]:
    return [feeds[name] for name in program.parameters]


def _by_name(program: Program) -> Callable[[Arrays], list[Any]]:
    """A function of arrays by name; most models have one input."""
    function, names = program.function, program.parameters
    if len(names) != 1:
        return lambda arrays: function(*[arrays[name] for name in names])
    (name,) = names
    return lambda arrays: function(arrays[name])


def _own_names(program: Program) -> set[str]:
    """Values allocated by the run that returns them: fresh results, and views of nothing else."""
    own: set[str] = set()
    for step in program.steps:
        seen = [value.name for value in step.arguments if value is not None]
        of_own = step.kernel.result == "view" and bool(seen) and own.issuperset(seen)
        if step.kernel.result == "fresh" or of_own:
            own.update(value.name for value in step.outputs if value is not None)
    return own
