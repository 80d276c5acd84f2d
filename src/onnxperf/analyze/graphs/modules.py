"""Which original nodes and which module each executed node works for, and the time per module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec.structs import replace

from onnxperf.analyze.graphs.attribution import places_of
from onnxperf.records.profile import ModuleTime, NodeTime, SourceGroup, added, sum_of

_Module = tuple[str, ...]


def with_origins(
    nodes: Sequence[NodeTime], groups: Sequence[SourceGroup], modules: Mapping[str, str]
) -> tuple[NodeTime, ...]:
    """The nodes with the original nodes and the module that they work for."""
    return tuple(
        node if place is None else _with_origin(node, groups[place[0]], modules)
        for node, place in zip(nodes, places_of(groups, nodes), strict=True)
    )


def of_first_model(nodes: Sequence[NodeTime], groups: Sequence[SourceGroup]) -> tuple[NodeTime, ...]:
    """Nodes of a second model with the nodes of the first whose work they do; `groups`: which became which."""
    known = {(group.path, name): group for group in groups for name in group.executed}
    found = []
    for node in nodes:
        group = next((known[node.path, name] for name in node.sources if (node.path, name) in known), None)
        leading = [] if group is None else _leading(node, group)
        rest = () if group is None else group.sources
        found.append(replace(node, sources=tuple(dict.fromkeys((*leading, *rest)))))
    return tuple(found)


def _with_origin(node: NodeTime, group: SourceGroup, modules: Mapping[str, str]) -> NodeTime:
    leading = _leading(node, group)
    sources = (*leading, *(name for name in group.sources if name not in leading))
    return replace(node, sources=sources, module=_module(leading or group.sources, modules))


def _leading(node: NodeTime, group: SourceGroup) -> list[str]:
    """An executed node is called after some of its original ones: a FusedConv does the work of a Conv and its Relu."""
    pairs = zip(group.sources, group.source_ops, strict=True)
    return [name for name, operator in pairs if operator and operator in node.op_name]


def _module(names: Sequence[str], modules: Mapping[str, str]) -> str | None:
    """The module that all these nodes are in."""
    paths = [_parts(modules[name]) for name in names if name in modules]
    if not paths:
        return None
    # A function that the outer module calls between two inner ones does not move the group out of these.
    inner = [path for path in paths if not any(_is_inside(other, path) for other in paths)]
    return ".".join(_common(inner))


def _parts(module: str) -> _Module:
    return tuple(module.split(".")) if module else ()


def _is_inside(inner: _Module, outer: _Module) -> bool:
    return len(inner) > len(outer) and inner[: len(outer)] == outer


def _common(paths: Sequence[_Module]) -> _Module:
    shortest = min(paths, key=len)
    return next(
        (
            shortest[:size]
            for size in range(len(shortest), 0, -1)
            if all(each[:size] == shortest[:size] for each in paths)
        ),
        (),
    )


# ---------------------------------------------------------------- times


def module_times(nodes: Sequence[NodeTime]) -> tuple[ModuleTime, ...]:
    """Time per module, each before its inner modules, the most costly first; nothing if no module is known."""
    own: dict[_Module, list[NodeTime]] = {}
    for node in nodes:
        if node.module is not None:
            own.setdefault(_parts(node.module), []).append(node)
    everything: dict[_Module, list[NodeTime]] = {}
    for path, members in own.items():
        for outer in accumulate(([part] for part in path), initial=[]):
            everything.setdefault(tuple(outer), []).extend(members)
    if set(everything) <= {()}:
        return ()
    none = (0,) * len(nodes[0].self_us)
    times = {path: _time(path, own.get(path, ()), members, none) for path, members in everything.items()}
    inside = Counter(path[:-1] for path in times if path)
    # A module that only wraps another one has the same time, and says nothing more.
    return tuple(times[path] for path in _in_order(times) if path in own or inside[path] != 1)


def _time(path: _Module, own: Sequence[NodeTime], members: Sequence[NodeTime], none: tuple[int, ...]) -> ModuleTime:
    return ModuleTime(
        module=".".join(path),
        nodes=len(members),
        calls=sum(node.calls for node in own),
        self_us=added([none, *(node.self_us for node in own)]),
        usual_us=sum_of(own),
        total_us=added(node.self_us for node in members),
        usual_total_us=sum_of(members),
    )


def _in_order(times: Mapping[_Module, ModuleTime]) -> list[_Module]:
    def cost(path: _Module) -> list[tuple[float, str]]:
        outer = accumulate(([part] for part in path), initial=[])
        return [(-times[tuple(each)].usual_total_us, ".".join(each)) for each in outer]

    return sorted(times, key=cost)
