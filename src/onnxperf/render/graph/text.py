"""A graph as a listing: what goes in, what is stored, a line per node, what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import takewhile

from onnxperf.errors import BadOption
from onnxperf.records.view import GraphView, Metrics, ViewFunction, ViewGraph, ViewNode, ViewTensor, ViewValue
from onnxperf.render.graph.fold import Fold, Item, folded
from onnxperf.render.graph.shared import all_graphs, all_inputs, operator_text, shape_text, type_text
from onnxperf.render.kit.page import Verbatim
from onnxperf.wording.names import shortened, visible
from onnxperf.wording.numbers import count, grouped, magnitude, percent, size

Part = tuple[str, str]
"""A piece of a line, and its style."""
Line = tuple[Part, ...]

_STEPS = 2
"""How far from a node its neighborhood reaches."""
_DEEPEST_INDENT = 12
"""Graphs that are deeper than this are not indented by depth: their lines would leave the page."""
_LONGEST_ATTRIBUTE = 48
_CONTINUED = 4
_MANY_TENSORS, _FIRST_TENSORS = 30, 12
_LONGEST_FACT = 100
_PLAIN, _HEAD, _DIM, _OPERATOR = "", "bold", "dim", "cyan"
_ANSI = {"bold": "1", "dim": "2", "red": "31", "yellow": "33", "cyan": "36"}
_HOT = ((0.10, "bold red"), (0.02, "yellow"), (0.0, "dim"))


@dataclass(frozen=True)
class Listing:
    """What of a model is listed."""

    all: bool = False
    """Nothing is folded."""
    around: str | None = None
    """Only this node and its neighbors."""
    op: str | None = None
    """Only nodes of this operator type."""
    depth: int | None = None
    """How far bodies and functions are shown."""
    metrics: Metrics | None = None
    """What the nodes cost."""


WHOLE = Listing()


def graph_text(view: GraphView, listing: Listing = WHOLE) -> str:
    """The listing as plain text."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in _lines(view, listing)) + "\n"


def graph_listing(view: GraphView, listing: Listing = WHOLE) -> Verbatim:
    """The listing for a page, with colors for a terminal."""
    lines = list(_lines(view, listing))
    coloured = ("".join(_coloured(*part) for part in line) for line in lines)
    return Verbatim(graph_text(view, listing).rstrip("\n"), "\n".join(coloured), [_hang(line) for line in lines])


def _hang(line: Line) -> int:
    """Where a line goes on that is too long for a terminal: behind the beginning of its operator or name."""
    before = list(takewhile(lambda part: part[1] != _OPERATOR, line))
    text = "".join(part for part, _ in before)
    return _CONTINUED + (len(text) if len(before) < len(line) else len(text) - len(text.lstrip()))


def _coloured(text: str, style: str) -> str:
    codes = ";".join(_ANSI[word] for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes else text


# ---------------------------------------------------------------- the whole


def _lines(view: GraphView, listing: Listing) -> Iterator[Line]:
    if listing.around is not None:
        yield from _neighbourhood(view, listing.around, listing)
        return
    yield from _head(view)
    yield from _values("inputs", view.graph.inputs)
    yield from _tensors(view.graph.initializers, listing)
    yield ()
    yield ((visible(listing.metrics.title) if listing.metrics else "nodes", _HEAD),)
    yield from _nodes(view.graph, listing, 1)
    yield ()
    yield from _values("outputs", view.graph.outputs)
    for function in view.functions:
        yield from _function(function, listing)
    yield from _notes((*view.notes, *(listing.metrics.notes if listing.metrics else ())))


def _notes(notes: Sequence[str]) -> Iterator[Line]:
    if notes:
        yield ()
    yield from (((f"note: {visible(note)}", _DIM),) for note in notes)


def _head(view: GraphView) -> Iterator[Line]:
    yield (visible(view.model) or "model", _HEAD), (f"   {' · '.join(_sums(view))}", _PLAIN)
    opsets = ", ".join(f"{visible(domain)} {version}" for domain, version in view.opsets.items())
    facts = {"opsets": opsets, "IR version": str(view.ir_version or ""), "producer": visible(view.producer)}
    yield from _facts({name: text for name, text in facts.items() if text})
    yield from _facts({visible(name): visible(text) for name, text in view.metadata.items()})
    yield from _facts({"doc": visible(view.doc)} if view.doc else {})
    yield ()


def _sums(view: GraphView) -> Iterator[str]:
    totals = view.totals
    yield count(totals.nodes, "node")
    if totals.parameters:
        yield f"{count(totals.parameters, 'parameter')}, {size(totals.weight_bytes)}"
    if totals.macs is not None:
        least = "at least " if totals.macs_unknown else ""
        free = f" with {', '.join(f'{visible(name)}=1' for name in view.free_dims)}" if view.free_dims else ""
        yield f"{least}{magnitude(totals.macs)} MACs{free}"


def _facts(facts: Mapping[str, str]) -> Iterator[Line]:
    for name, text in facts.items():
        yield (f"{name}: ", _DIM), (shortened(text, _LONGEST_FACT - len(name) - 2), _PLAIN)


def _values(title: str, values: Sequence[ViewValue]) -> Iterator[Line]:
    yield ((title, _HEAD),)
    longest = _longest(value.name for value in values)
    for value in values:
        yield (f"  {_name(value.name):{longest}}  ", _PLAIN), (type_text(value), _DIM)


def _tensors(tensors: Sequence[ViewTensor], listing: Listing, indent: int = 1) -> Iterator[Line]:
    if not tensors:
        return
    listed = tensors if listing.all or len(tensors) <= _MANY_TENSORS else tensors[:_FIRST_TENSORS]
    if indent == 1:
        yield ()
        yield (("initializers", _HEAD),)
    longest = _longest(tensor.name for tensor in listed)
    types = [f"{visible(tensor.dtype)}{shape_text(tensor.shape)}" for tensor in listed]
    widest = max(map(len, types))
    for tensor, type_ in zip(listed, types, strict=True):
        where = " in another file" if tensor.external else ""
        facts = f"{type_:{widest}}  {size(tensor.size_bytes):>9}{where}"
        preview = f"  {shortened(visible(tensor.preview), _LONGEST_ATTRIBUTE)}" if tensor.preview else ""
        yield (f"{'  ' * indent}{_name(tensor.name):{longest}}  ", _PLAIN), (facts, _DIM), (preview, _PLAIN)
    rest = tensors[len(listed) :]
    if rest:
        total = size(sum(tensor.size_bytes for tensor in rest))
        yield ((f"{'  ' * indent}… {grouped(len(rest))} more, {total} (`all` shows them)", _DIM),)


def _function(function: ViewFunction, listing: Listing) -> Iterator[Line]:
    chosen = [node for node in function.graph.nodes if _wanted(node, listing)]
    if not chosen:
        return
    inputs = [_name(value.name) for value in function.graph.inputs]
    defaults = [f"{visible(name)}={visible(text)}" if text else visible(name) for name, text in function.attributes]
    outputs = ", ".join(_name(value.name) for value in function.graph.outputs)
    yield ()
    yield (
        ("function ", _HEAD),
        (operator_text(function.domain, function.name), _OPERATOR),
        (
            f"({', '.join([*inputs, *defaults])}) -> {outputs}",
            _PLAIN,
        ),
    )
    if listing.depth == 0:
        yield ((f"  … {count(len(function.graph.nodes), 'node')}", _DIM),)
    else:
        yield from _nodes(function.graph, listing, 1)


# ---------------------------------------------------------------- nodes


def _nodes(graph: ViewGraph, listing: Listing, indent: int, level: int = 0) -> Iterator[Line]:
    if listing.op is not None:
        chosen = [node for node in graph.nodes if _wanted(node, listing)]
        items: list[Item] = list(chosen)
    else:
        items = list(graph.nodes) if listing.all else folded(graph.nodes)
    deepest = max((node.depth for node in graph.nodes), default=0)
    for item in items:
        if isinstance(item, Fold):
            yield ((f"{_margin(listing)}{'  ' * indent}{_fold_text(item)}", _DIM),)
            continue
        steps = item.depth if deepest <= _DEEPEST_INDENT and listing.op is None else 0
        yield _node_line(item, graph, listing, indent + steps)
        yield from _bodies(item, listing, indent + steps + 1, level + 1)


def _wanted(node: ViewNode, listing: Listing) -> bool:
    inside = (inner for body in node.subgraphs.values() for inner in body.nodes)
    return listing.op in (None, node.op_type) or any(_wanted(inner, listing) for inner in inside)


def _fold_text(fold: Fold) -> str:
    if not fold.block:
        return f"… {count(fold.nodes, 'node')} (`all` shows them)"
    times = count(fold.nodes // fold.block, "more time")
    return f"… {times} the {count(fold.block, 'operator')} above: {count(fold.nodes, 'node')} (`all` shows them)"


def _bodies(node: ViewNode, listing: Listing, indent: int, level: int) -> Iterator[Line]:
    for name, body in node.subgraphs.items():
        start = f"{_margin(listing)}{'  ' * indent}"
        inputs = ", ".join(_name(value.name) for value in body.inputs)
        outputs = ", ".join(_name(value.name) for value in body.outputs)
        yield (f"{start}{visible(name)}", _HEAD), (f"({inputs}) -> {outputs}", _PLAIN)
        if listing.depth is not None and level > listing.depth:
            yield ((f"{start}  … {count(len(body.nodes), 'node')}", _DIM),)
            continue
        margin = len(_margin(listing)) // 2
        yield from _tensors(body.initializers if listing.op is None else (), listing, margin + indent + 1)
        yield from _nodes(body, listing, indent + 1, level)


def _node_line(node: ViewNode, graph: ViewGraph, listing: Listing, indent: int) -> Line:
    attributes = [
        f"{visible(name)}={shortened(visible(text), _LONGEST_ATTRIBUTE)}"
        for name, text in node.attributes
        if name not in node.defaults
    ]
    outputs = ", ".join(_with_type(name, graph) for name in node.outputs)
    return (
        *_share(node, listing),
        ("  " * indent, _PLAIN),
        (operator_text(node.domain, node.op_type), _OPERATOR),
        (f"({', '.join([*map(_name, node.inputs), *attributes])}) -> {outputs}", _PLAIN),
        (f"  # {visible(node.label)}", _DIM),
    )


def _share(node: ViewNode, listing: Listing) -> Line:
    if listing.metrics is None:
        return ()
    metric = listing.metrics.nodes.get(node.key)
    if metric is None:
        return ((_margin(listing), _PLAIN),)
    style = next(style for least, style in _HOT if metric.share >= least)
    return ((f"{percent(metric.share):>8}", style),)


def _margin(listing: Listing) -> str:
    return " " * 8 if listing.metrics else ""


def _with_type(name: str, graph: ViewGraph) -> str:
    known = graph.types.get(name)
    return f"{_name(name)}: {type_text(known)}" if known is not None else _name(name)


# ---------------------------------------------------------------- around a node


def _neighbourhood(view: GraphView, wanted: str, listing: Listing) -> Iterator[Line]:
    graph, centre = _find(view, wanted)
    near = _near(graph, centre)
    yield (
        (f"around {visible(centre.label)}", _HEAD),
        (f"   {len(near)} of {count(len(graph.nodes), 'node')}", _PLAIN),
    )
    if listing.metrics:
        yield ((visible(listing.metrics.title), _PLAIN),)
    yield ()
    least = min(node.depth for node in near)
    start = 1 if listing.metrics else 0
    for node in near:
        mark = "> " if node is centre else "  "
        line = _node_line(node, graph, listing, start + min(node.depth - least, _DEEPEST_INDENT))
        yield (mark, _HEAD), *line
    yield from _notes(listing.metrics.notes if listing.metrics else ())


def _find(view: GraphView, wanted: str) -> tuple[ViewGraph, ViewNode]:
    """A node by its name, label, key or output, in this order."""
    every = [(graph, node) for graph in all_graphs(view) for node in graph.nodes]
    for is_it in (
        lambda node: wanted in (node.name, node.label),
        lambda node: wanted == node.key,
        lambda node: wanted in node.outputs,
    ):
        found = next((pair for pair in every if wanted and is_it(pair[1])), None)
        if found is not None:
            return found
    close = get_close_matches(wanted, [node.label for _, node in every], 3, 0.5)
    hint = f"; similar: {', '.join(map(visible, close))}" if close else ""
    raise BadOption(f"no node or tensor is named {wanted!r}{hint}")


def _near(graph: ViewGraph, centre: ViewNode) -> list[ViewNode]:
    before = after = {centre.index}
    taken = {node.index: set(all_inputs(node)) for node in graph.nodes}
    for _ in range(_STEPS):
        needed = {name for index in before for name in taken[index] if name}
        made = {name for node in graph.nodes if node.index in after for name in node.outputs if name}
        before = before | {node.index for node in graph.nodes if needed.intersection(node.outputs)}
        after = after | {node.index for node in graph.nodes if made & taken[node.index]}
    return [node for node in graph.nodes if node.index in before | after]


# ---------------------------------------------------------------- words


def _name(name: str) -> str:
    return visible(name) or "-"


def _longest(names: Iterable[str]) -> int:
    return min(max((len(_name(name)) for name in names), default=0), 60)
