"""Sorts nodes so that each comes after those that it reads, as onnxruntime does."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, MutableSequence, Sequence
from functools import partial

import onnx

from onnxperf.errors import BadModel
from onnxperf.model.graph import bodies, initialisers, with_bodies
from onnxperf.runtimes.numpy.faults import label, quoted

_SHOWN = 4
"""The maximum number of nodes of a cycle shown in an error."""


def sort_nodes(model: onnx.ModelProto) -> None:
    """Sort the nodes of all graphs, bodies and functions, in place; sorted ones stay as they are.

    Everything that is read must exist: onnx's shape inference crashes on a value without a type.
    """
    for graph in with_bodies(model.graph):
        _sort(graph.node)
    _check_graph(model.graph, ())
    for function in model.functions:
        _sort(function.node)
        for node in function.node:
            for _, body in bodies(node):
                for graph in with_bodies(body):
                    _sort(graph.node)
        _check_names(function.node, function.output, set(function.input), ())


def _check_graph(graph: onnx.GraphProto, outer: Sequence[set[str]]) -> None:
    known = initialisers(graph).union(value.name for value in graph.input)
    _check_names(graph.node, [value.name for value in graph.output], known, outer)


def _check_names(
    nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], known: set[str], outer: Sequence[set[str]]
) -> None:
    """Reject names that are neither known, nor from outer graphs, nor computed by an earlier node."""
    scopes = (known, *outer)

    def check(name: str, reader: Callable[[], str]) -> None:
        if name and not any(name in scope for scope in scopes):
            raise BadModel(
                f"{reader()} reads {quoted(name)}, which is not an input, an initializer or the result of a node"
            )

    for node in nodes:
        for name in node.input:
            check(name, partial(label, node))
        for _, body in bodies(node):
            _check_graph(body, scopes)
        known.update(node.output)
    for name in outputs:
        check(name, lambda: "the output of the graph")


def _sort(nodes: MutableSequence[onnx.NodeProto]) -> None:
    producers: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in producers:
                raise BadModel(f"{label(nodes[producers[name]])} and {label(node)} both compute {quoted(name)}")
            producers[name] = index
    needs = [{producers[name] for name in _read_by(node) if name in producers} for node in nodes]
    if all(max(needed, default=-1) < index for index, needed in enumerate(needs)):
        return
    order = _order(needs)
    if len(order) < len(nodes):
        raise BadModel(f"the graph has a cycle: {_cycle(nodes, needs, set(order))}")
    ordered = onnx.GraphProto(node=[nodes[index] for index in order])
    del nodes[:]
    nodes.extend(ordered.node)


def _read_by(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads, and those that its bodies read from outside."""
    yield from node.input
    for _, body in bodies(node):
        yield from _free_names(body)


def _free_names(graph: onnx.GraphProto) -> set[str]:
    defined = initialisers(graph).union(value.name for value in graph.input)
    read = {value.name for value in graph.output}
    for node in graph.node:
        read.update(_read_by(node))
        defined.update(node.output)
    return read - defined


def _order(needs: Sequence[set[int]]) -> list[int]:
    """Repeatedly the first node that can be computed; nodes of a cycle are left out."""
    missing = [len(needed) for needed in needs]
    readers: list[list[int]] = [[] for _ in needs]
    for index, needed in enumerate(needs):
        for each in needed:
            readers[each].append(index)
    ready = [index for index, count in enumerate(missing) if not count]
    order = []
    while ready:
        order.append(heapq.heappop(ready))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    return order


def _cycle(nodes: Sequence[onnx.NodeProto], needs: Sequence[set[int]], placed: set[int]) -> str:
    """The nodes of a cycle: every unplaceable node needs another unplaceable one."""
    path = [next(index for index in range(len(nodes)) if index not in placed)]
    seen: set[int] = set()
    while path[-1] not in seen:
        seen.add(path[-1])
        path.append(min(needs[path[-1]] - placed))
    cycle = path[path.index(path[-1]) :]
    shown = " reads from ".join(label(nodes[index]) for index in cycle[:_SHOWN])
    return shown + (" …" if len(cycle) > _SHOWN else "")
