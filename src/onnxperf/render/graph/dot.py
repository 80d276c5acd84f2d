"""A graph in Graphviz' language: boxes for nodes and stored tensors, shapes on edges, clusters for bodies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import NamedTuple

from onnxperf.records.view import GraphView, Metrics, ViewGraph, ViewNode, ViewTensor
from onnxperf.render.graph.shared import operator_text, shape_text, type_text
from onnxperf.wording.names import shortened, visible
from onnxperf.wording.numbers import percent

_LONGEST = 40
"""Characters of a line in a box."""
_WIDEST_LINE = 120
"""Characters of a line of the legend, where longer ones are wrapped."""
_COLOURS = {"input": "#cfe8d5", "output": "#cfe8d5", "initializer": "#eeeeee", "node": "#ffffff"}
_HOTTEST, _COOLEST = (227, 74, 51), (255, 255, 255)


class _Maker(NamedTuple):
    """What makes a tensor, and what is written on the edges that leave it."""

    place: str
    text: str = ""


class _Page(NamedTuple):
    """What is written while the graphs are walked through."""

    metrics: Metrics | None
    edges: list[str]
    """They come last and outside of all clusters: a cluster takes in every node that is named in it."""


def graph_dot(view: GraphView, metrics: Metrics | None = None) -> str:
    """A digraph that every version of Graphviz reads; names of tensors and nodes are only ever labels."""
    lines = [
        f"digraph {_quoted(view.model or 'model')} {{",
        "  rankdir=TB;",
        '  graph [fontname="Helvetica", fontsize=10];',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10];',
        '  edge [fontname="Helvetica", fontsize=8];',
    ]
    words = [*view.notes] if metrics is None else [metrics.title, *metrics.notes, *view.notes]
    if words:
        lines.append(f"  label={_lines(line for each in words for line in wrap(each, _WIDEST_LINE))};")
    page = _Page(metrics, [])
    lines += _graph(view.graph, "g", "  ", {}, page)
    for function in view.functions:
        title = operator_text(function.domain, function.name)
        lines += _cluster(function.graph, function.key, f"function {title}", "  ", {}, page)
    return "\n".join([*lines, *page.edges, "}"]) + "\n"


def _quoted(text: str) -> str:
    """A text as Graphviz' quoted string: on one line, and with nothing left that Graphviz would interpret."""
    # Graphviz reads entities in labels, as HTML does.
    escaped = visible(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    return f'"{escaped}"'


def _label(*lines: str) -> str:
    return _lines(shortened(line, _LONGEST) for line in lines if line)


def _lines(lines: Iterable[str]) -> str:
    return '"' + "\\n".join(_quoted(line)[1:-1] for line in lines) + '"'


def _graph(graph: ViewGraph, prefix: str, indent: str, outer: Mapping[str, _Maker], page: _Page) -> Iterator[str]:
    makers = dict(outer)
    for number, tensor in enumerate(graph.initializers):
        makers[tensor.name] = _Maker(f"{prefix}_w{number}")
        yield f"{indent}{prefix}_w{number} [{_box('initializer', *_tensor_lines(tensor))}];"
    stored = {tensor.name for tensor in graph.initializers}
    for number, value in enumerate(graph.inputs):
        if value.name not in stored:
            makers[value.name] = _Maker(f"{prefix}_i{number}", type_text(value))
            yield f"{indent}{prefix}_i{number} [{_box('input', value.name or '-', type_text(value))}];"
    for node in graph.nodes:
        place = f"{prefix}_n{node.index}"
        makers.update((name, _Maker(place, _known(graph, name))) for name in node.outputs if name)
    for node in graph.nodes:
        yield from _node(node, f"{prefix}_n{node.index}", indent, makers, page)
    for number, value in enumerate(graph.outputs):
        place = f"{prefix}_o{number}"
        yield f"{indent}{place} [{_box('output', value.name or '-', type_text(value))}];"
        if value.name in makers:
            page.edges.append(_edge(makers[value.name], place))


def _node(node: ViewNode, place: str, indent: str, makers: Mapping[str, _Maker], page: _Page) -> Iterator[str]:
    metric = page.metrics.nodes.get(node.key) if page.metrics is not None else None
    share = percent(metric.share) if metric is not None else ""
    attributes = [f"{name}={text}" for name, text in node.attributes if name not in node.defaults]
    colour = _heat(metric.share) if metric is not None else _COLOURS["node"]
    tooltip = " | ".join((node.label, *(metric.lines if metric is not None else ())))
    operator = operator_text(node.domain, node.op_type)
    look = f"label={_label(operator, share, *attributes)}, fillcolor={_quoted(colour)}, tooltip={_quoted(tooltip)}"
    yield f"{indent}{place} [{look}];"
    page.edges.extend(_edge(makers[name], place) for name in node.inputs if name in makers)
    for number, (name, body) in enumerate(node.subgraphs.items()):
        yield from _cluster(body, f"{place}_b{number}", f"{node.label}: {name}", indent, makers, page)


def _cluster(
    graph: ViewGraph, prefix: str, title: str, indent: str, outer: Mapping[str, _Maker], page: _Page
) -> Iterator[str]:
    yield f"{indent}subgraph cluster_{prefix} {{"
    yield f"{indent}  label={_quoted(title)};"
    yield from _graph(graph, prefix, f"{indent}  ", outer, page)
    yield f"{indent}}}"


def _edge(maker: _Maker, place: str) -> str:
    text = f" [label={_label(maker.text)}]" if maker.text else ""
    return f"  {maker.place} -> {place}{text};"


def _box(kind: str, *lines: str) -> str:
    return f"label={_label(*lines)}, fillcolor={_quoted(_COLOURS[kind])}"


def _tensor_lines(tensor: ViewTensor) -> tuple[str, ...]:
    return tensor.name or "-", f"{tensor.dtype}{shape_text(tensor.shape)}", tensor.preview


def _known(graph: ViewGraph, name: str) -> str:
    return type_text(graph.types[name]) if name in graph.types else ""


def _heat(share: float) -> str:
    part = min(max(share, 0.0), 1.0) ** 0.5  # small shares would all look white otherwise
    mixed = (round(cool + part * (hot - cool)) for hot, cool in zip(_HOTTEST, _COOLEST, strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)
