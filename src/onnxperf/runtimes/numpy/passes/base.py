"""How two steps are joined, and when that is allowed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace

import onnx

from onnxperf.runtimes.numpy.base import Kernel
from onnxperf.runtimes.numpy.lower import Lowered, Step, arguments_of

Pass = Callable[[Step, Step], Kernel | None]
"""Returns the kernel that does the work of a step and of its result's only reader; None if there is none."""


def join(lowered: Lowered, kernel_of: Pass) -> Lowered:
    """Join steps with the only reader of their result, repeatedly, if one kernel does the work of both.

    A result with a second reader, a result captured by a body, and an output of the graph are left alone.
    """
    readers: dict[int, list[Step]] = defaultdict(list)
    for step in lowered.steps:
        for value in step.arguments:
            readers[id(value)].append(step)
    outputs = {id(value) for value in lowered.outputs}
    joined: set[int] = set()

    def only_reader(step: Step) -> Step | None:
        result = step.outputs[0]
        if step.node.output_count != 1 or result is None or id(result) in outputs:
            return None
        found = readers[id(result)]
        return found[0] if len(found) == 1 and result not in found[0].captures else None

    def with_readers(step: Step) -> Step:
        nodes = list(step.fused or (step.node.proto,))
        before = len(nodes)
        while (reader := only_reader(step)) is not None and (kernel := kernel_of(step, reader)) is not None:
            joined.add(id(reader))
            nodes += reader.fused or (reader.node.proto,)
            step = _both(step, reader, kernel)
        return step if len(nodes) == before else _named(step, nodes)

    # Readers come after the steps that they read, so a step is joined to another before its own turn.
    return replace(lowered, steps=[with_readers(step) for step in lowered.steps if id(step) not in joined])


def _both(first: Step, second: Step, kernel: Kernel) -> Step:
    """One step in place of the first: everything else that the second reads is constant, and bound in the kernel."""
    used = range(len(first.node.inputs)) if kernel.uses is None else kernel.uses
    # Bound inputs are dropped, so that weights do not stay in memory next to those derived from them.
    inputs = tuple(value if i in used else None for i, value in enumerate(first.node.inputs))
    node = replace(first.node, inputs=inputs, outputs=second.node.outputs)
    return Step(node, kernel, arguments_of(node, kernel), second.outputs)


def _named(step: Step, nodes: list[onnx.NodeProto]) -> Step:
    """A step of several nodes, with the names of all."""
    together = onnx.NodeProto(
        name=" + ".join(node.name for node in nodes if node.name),
        op_type=" + ".join(node.op_type for node in nodes),
        domain=step.node.domain,
        output=nodes[-1].output,
    )
    return replace(step, node=replace(step.node, proto=together), fused=tuple(nodes))
