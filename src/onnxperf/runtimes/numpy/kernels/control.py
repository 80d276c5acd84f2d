"""Subgraphs: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxperf.runtimes.numpy.base import Array, Body, Kernel, Node, Value, kernel

Run = Callable[[list[Any], tuple[Any, ...]], list[Any]]


def _runner(node: Node, body: Body) -> Run:
    """Calls a body with its inputs and its own share of the node's captures."""
    names = list(dict.fromkeys(name for each in node.bodies.values() for name in each.captures))
    function, places = body.function, [names.index(name) for name in body.captures]
    if places == list(range(len(names))):
        return lambda inputs, captures: function(*inputs, *captures)
    return lambda inputs, captures: function(*inputs, *[captures[place] for place in places])


def _results(node: Node, values: list[Any]) -> Any:
    return values[0] if node.output_count == 1 else tuple(values[: node.output_count])


@kernel("If")
def make_if(node: Node) -> Kernel:
    """One of two branches."""
    then, otherwise = (_runner(node, node.bodies[name]) for name in ("then_branch", "else_branch"))

    def choose(condition: Array, *captures: Any) -> Any:
        return _results(node, (then if condition else otherwise)([], captures))

    return Kernel(choose)


@kernel("Loop")
def make_loop(node: Node) -> Kernel:
    """The body repeatedly, up to a maximum count and while a condition holds."""
    given = len(node.inputs)
    states_count = max(given - 2, 0)
    run = _runner(node, node.bodies["body"])
    stacked = node.outputs[states_count:]

    def loop(*arguments: Any) -> Any:
        inputs, captures = arguments[:given], arguments[given:]
        count, condition, *states = (*inputs, None, None)[: max(given, 2)]
        limit = None if count is None else int(np.asarray(count).reshape(()))
        going = np.bool_(True) if condition is None else condition
        scans: list[list[Any]] = [[] for _ in stacked]
        iteration = 0
        while going and (limit is None or iteration < limit):
            going, *results = run([np.int64(iteration), going, *states], captures)
            states = results[:states_count]
            for scan, value in zip(scans, results[states_count:], strict=False):
                scan.append(value)
            iteration += 1
        return _results(node, [*states, *map(_stacked, scans, stacked)])

    return Kernel(loop)


def _stacked(values: list[Any], declared: Value | None, axis: int = 0) -> Array:
    """The values of all iterations along a new axis; without iterations, an empty tensor of the declared shape."""
    if values:
        return np.stack(values, axis)
    shape = () if declared is None or not declared.shape else declared.shape
    known = [size if isinstance(size, int) else 0 for size in shape] or [0]
    known[axis] = 0
    return np.zeros(known, np.float32 if declared is None else declared.dtype)


@kernel("Scan", since=9)
def make_scan(node: Node) -> Kernel:
    """The body for every slice of some inputs, forward or backward."""
    count = node.get("num_scan_inputs")
    states_count, given = len(node.inputs) - count, len(node.inputs)
    stacked = node.outputs[states_count:]
    in_axes, in_backward = (node.get(f"scan_input_{name}") or [0] * count for name in ("axes", "directions"))
    outputs = len(stacked)
    out_axes, out_backward = (node.get(f"scan_output_{name}") or [0] * outputs for name in ("axes", "directions"))
    run = _runner(node, node.bodies["body"])

    def scan(*arguments: Any) -> Any:
        states, captures = list(arguments[:states_count]), arguments[given:]
        slices = [
            (moved[::-1] if backward else moved)
            for x, axis, backward in zip(arguments[states_count:given], in_axes, in_backward, strict=True)
            for moved in (np.moveaxis(x, axis, 0) if axis else x,)
        ]
        scans: list[list[Any]] = [[] for _ in stacked]
        for items in zip(*slices, strict=True):
            results = run([*states, *items], captures)
            states = results[:states_count]
            for values, value in zip(scans, results[states_count:], strict=False):
                values.append(value)
        ordered = [values[::-1] if backward else values for values, backward in zip(scans, out_backward, strict=False)]
        return _results(node, [*states, *map(_stacked, ordered, stacked, out_axes)])

    return Kernel(scan)


@kernel("Scan", since=8)
def make_first_scan(node: Node) -> Kernel | None:
    """The first version: every input has a leading batch axis, and the second one is scanned."""
    if node.has(0):
        return None
    count, given = node.get("num_scan_inputs"), len(node.inputs)
    states_count = given - 1 - count
    backward = node.get("directions") or [0] * count
    run = _runner(node, node.bodies["body"])
    width = len(node.outputs) - states_count

    def one(inputs: list[Any], captures: tuple[Any, ...]) -> list[Any]:
        states, scans = inputs[:states_count], [[] for _ in range(width)]  # type: list[Any], list[list[Any]]
        sliced = [x[::-1] if turn else x for x, turn in zip(inputs[states_count:], backward, strict=True)]
        for items in zip(*sliced, strict=True):
            results = run([*states, *items], captures)
            states = results[:states_count]
            for values, value in zip(scans, results[states_count:], strict=False):
                values.append(value)
        return [*states, *map(np.stack, scans)]

    def scan(_: Any, *arguments: Any) -> Any:
        inputs, captures = arguments[: given - 1], arguments[given - 1 :]
        batches = [one(list(items), captures) for items in zip(*inputs, strict=True)]
        return _results(node, [np.stack(values) for values in zip(*batches, strict=True)])

    return Kernel(scan)


@kernel("SequenceMap", since=17)
def make_sequence_map(node: Node) -> Kernel:
    """The body for every element of a sequence; other sequences advance with it, tensors are shared."""
    given, count = len(node.inputs), len(node.outputs)
    run = _runner(node, node.bodies["body"])

    def each(*arguments: Any) -> Any:
        inputs, captures = arguments[:given], arguments[given:]
        rows = [run([x[i] if isinstance(x, list) else x for x in inputs], captures) for i in range(len(arguments[0]))]
        return _results(node, [[row[i] for row in rows] for i in range(count)])

    return Kernel(each)
