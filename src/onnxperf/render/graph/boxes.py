"""A graph as boxes with text and wires between them; bodies of nodes are graphs of their own inside the box."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import NamedTuple

from onnxperf.records.view import Dims, GraphView, ViewGraph, ViewNode, ViewTensor, ViewValue
from onnxperf.render.graph.layout import Box, GraphLayout, Wire, lay_out
from onnxperf.render.graph.shared import all_inputs, operator_text
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import count

TITLE_SIZE, SMALL_SIZE = 13.0, 10.0
"""Heights of letters."""
PAD = 9.0
TITLE_LINE, SMALL_LINE = 18.0, 13.0
FRAME_PAD = 12.0
FRAME_TITLE, FRAME_TITLE_SIZE = 18.0, 11.0
_LONGEST = 30
"""Characters of a line in a box; tooltips have the rest."""
LONGEST_TITLE = 80
"""Characters of the name of a model, a function or a body: the drawing must not be wide for a name only."""
_MOST_LINES = 6
_MOST_VALUES = 4
"""A tensor with at most so many values shows them."""
_WIDEST_PORTS = 420.0
_MOST_TIPS = 12
_NARROW = frozenset("iIl.,:;'|!jft()[]{} -/\"")
_BROAD = frozenset("mwMW@%")


class Paint(NamedTuple):
    """How a node looks."""

    fill: str
    stroke: str
    text: str = "#222222"
    dashed: bool = False
    scale: float = 1.0
    """Its text and with it its box are so much larger."""
    bar: float | None = None
    """Part of the lower edge that is filled."""
    badge: str = ""
    """Words next to its operator."""
    tips: tuple[str, ...] = ()
    """Lines of its tooltip."""
    keys: tuple[str, ...] = ()
    """What it stands for on a page, and then what it belongs to: an operator, modules."""


class Plate(NamedTuple):
    """A box with its text, and what is inside."""

    kind: str
    """node, or for what a graph is fed and returns: value; for what a body takes from outside: outer."""
    title: str
    lines: tuple[str, ...]
    paint: Paint | None
    tips: tuple[str, ...]
    width: float
    height: float
    head: float
    """Height of its text, below which its bodies are."""
    bodies: tuple[Canvas, ...] = ()


class Canvas(NamedTuple):
    """A graph that is laid out; its upper left corner is (0, 0)."""

    title: str
    width: float
    height: float
    plates: list[Plate]
    layout: GraphLayout
    labels: list[str]
    """Of each wire; empty if it has no room."""
    names: list[str]
    """Tooltips of the wires."""


Painter = Callable[[ViewNode], Paint]
Constants = Mapping[str, str]
"""Names of tensors that are stored in the model, and how a box shows them."""


def sheets_of(view: GraphView, painter: Painter) -> list[Canvas]:
    """The graph, and next to it each local function."""
    sheets = [_sheet("", view.graph, painter, {})]
    for function in view.functions:
        name = ":".join(filter(None, [function.domain, function.name, function.overload]))
        sheets.append(_sheet(f"function {visible(name)}", function.graph, painter, {}))
    return sheets


# ---------------------------------------------------------------- a graph


class _Entry(NamedTuple):
    plate: Plate
    inputs: Sequence[str]
    outputs: Sequence[str]


def _sheet(title: str, graph: ViewGraph, painter: Painter, outer: Constants) -> Canvas:
    made = {name for node in graph.nodes for name in node.outputs} | {value.name for value in graph.inputs}
    stored = {tensor.name: _tensor_text(tensor) for tensor in graph.initializers}
    constants = {name: text for name, text in outer.items() if name not in made} | stored | _folded(graph)
    types = {name: _value_text(value) for name, value in graph.types.items()}
    types |= {tensor.name: f"{visible(tensor.dtype)} {_dims_text(tensor.shape)}" for tensor in graph.initializers}
    entries = [_Entry(_value_plate("value", each), (), [each.name]) for each in graph.inputs if each.name not in stored]
    for node in graph.nodes:
        outputs = [name for name in node.outputs if name]
        if not outputs or not constants.keys() >= set(outputs):
            inputs = [name for name in dict.fromkeys(all_inputs(node)) if name and name not in constants]
            entries.append(_Entry(_node_plate(node, painter, constants, graph, types), inputs, outputs))
    for value in graph.outputs:
        known = constants.get(value.name, "")
        entries.append(_Entry(_value_plate("value", value, known), () if known else [value.name], ()))
    return _laid_out(title, graph, entries)


def _laid_out(title: str, graph: ViewGraph, entries: Sequence[_Entry]) -> Canvas:
    plates, users = _connected(entries)
    leaving = Counter(maker for maker, _ in users)
    wires, labels, names = [], [], []
    for (maker, name), targets in users.items():
        value = graph.types.get(name)
        label = _edge_text(value) if plates[maker].kind == "node" else ""
        width = text_width(label, SMALL_SIZE) + 8 if label else 0.0
        alone = leaving[maker] == 1
        if not alone and width > plates[maker].width / leaving[maker]:
            label = ""
        wires.append(Wire(maker, tuple(targets), width if alone else 0.0))
        labels.append(label)
        names.append(f"{name_of(name)} {_value_text(value)}".rstrip())
    layout = lay_out([Box(plate.width, plate.height) for plate in plates], wires)
    return Canvas(shortened(title, LONGEST_TITLE), layout.width, layout.height, plates, layout, labels, names)


def _connected(entries: Sequence[_Entry]) -> tuple[list[Plate], dict[tuple[int, str], list[int]]]:
    """All boxes, and the users of each tensor by its maker and name; what no box makes comes from outside."""
    plates = [entry.plate for entry in entries]
    first: dict[str, int] = {}
    for number, entry in enumerate(entries):
        for name in entry.outputs:
            first.setdefault(name, number)
    makers: dict[str, int] = {}  # damaged models make a name twice: the last one before its use counts
    users: dict[tuple[int, str], list[int]] = {}
    for number, entry in enumerate(entries):
        for name in entry.inputs:
            if name not in first:
                first[name] = len(plates)
                plates.append(_value_plate("outer", ViewValue(name=name), "from outside"))
            users.setdefault((makers.get(name, first[name]), name), []).append(number)
        makers.update(dict.fromkeys(entry.outputs, number))
    return plates, users


def _folded(graph: ViewGraph) -> dict[str, str]:
    """Outputs of Constant nodes, which are shown where they are used, as initialisers are."""
    returned = {value.name for value in graph.outputs}
    found = {}
    for node in graph.nodes:
        if (
            node.op_type == "Constant"
            and not node.domain
            and len(node.outputs) == 1
            and node.outputs[0] not in returned
        ):
            found[node.outputs[0]] = shortened(visible(" ".join(value for _, value in node.attributes)), _LONGEST)
    return found


# ---------------------------------------------------------------- boxes


def _value_plate(kind: str, value: ViewValue, known: str = "") -> Plate:
    title = shortened(name_of(value.name), _LONGEST)
    line = known or shortened(_value_text(value), _LONGEST)
    lines = (line,) if line else ()
    width = max(text_width(title, TITLE_SIZE), text_width(line, SMALL_SIZE)) + 2 * PAD + 8
    height = TITLE_LINE + SMALL_LINE * len(lines) + PAD
    tips = (name_of(value.name), _value_text(value))
    return Plate(kind, title, lines, None, tips, width, height, height)


def _node_plate(
    node: ViewNode, painter: Painter, constants: Constants, graph: ViewGraph, types: Mapping[str, str]
) -> Plate:
    paint = painter(node)
    lines = tuple(_node_lines(node, constants))
    bodies = tuple(_sheet(visible(name), body, painter, constants) for name, body in node.subgraphs.items())
    title = shortened(visible(node.op_type), _LONGEST) + (f"  {paint.badge}" if paint.badge else "")
    width = max([text_width(title, TITLE_SIZE) * 1.08, *(text_width(line, SMALL_SIZE) for line in lines)]) + 2 * PAD
    head = TITLE_LINE + SMALL_LINE * len(lines) + PAD + (4 if paint.bar is not None else 0)
    width, head = width * paint.scale, head * paint.scale
    frames = [frame_size(body) for body in bodies]
    inside = sum(each for each, _ in frames) + FRAME_PAD * (len(bodies) + 1)
    width = max(width, _ports_width(node, graph), inside if bodies else 0.0)
    height = head
    if bodies:
        height += max(each for _, each in frames) + FRAME_PAD
    tips = (*_node_tips(node, types), *paint.tips)
    return Plate("node", title, lines, paint, tips, width, height, head, bodies)


def frame_size(sheet: Canvas) -> tuple[float, float]:
    """Size of a graph with a frame and a title around it."""
    width = max(sheet.width, text_width(sheet.title, FRAME_TITLE_SIZE))
    return width + 2 * FRAME_PAD, sheet.height + FRAME_TITLE + 2 * FRAME_PAD


def _ports_width(node: ViewNode, graph: ViewGraph) -> float:
    """Room for the wires of a node with several outputs, and their labels if there are not too many."""
    outputs = [name for name in node.outputs if name]
    if len(outputs) < 2:
        return 0.0
    longest = max(text_width(_edge_text(graph.types.get(name)), SMALL_SIZE) for name in outputs) + 10
    with_labels = longest * len(outputs)
    return with_labels + 2 * PAD if with_labels <= _WIDEST_PORTS else 14.0 * len(outputs)


def _node_lines(node: ViewNode, constants: Constants) -> list[str]:
    """The domain, attributes that say something, and stored tensors, which come before attributes if room is scarce."""
    given = [(name, value) for name, value in node.attributes if name not in node.defaults]
    domain = [visible(node.domain)] if node.domain else []
    attributes = [shortened(f"{visible(name)} {visible(value)}", _LONGEST) for name, value in given]
    stored = [constants[name] for name in dict.fromkeys(node.inputs) if constants.get(name)]
    room = max(_MOST_LINES - len(domain) - len(stored), 2)
    left_out = max(len(attributes) - room, 0) + max(len(stored) - _MOST_LINES, 0)
    more = [f"and {left_out} more"] if left_out else []
    return [*domain, *attributes[:room], *stored[:_MOST_LINES], *more]


def _node_tips(node: ViewNode, types: Mapping[str, str]) -> Iterable[str]:
    yield f"{name_of(node.label)} ({operator_text(node.domain, node.op_type)})"
    for word, names in (("in", node.inputs), ("out", node.outputs)):
        for name in names[:_MOST_TIPS]:
            yield f"{word}: {name_of(name)} {types.get(name, '')}".rstrip()
        if len(names) > _MOST_TIPS:
            yield f"{word}: {len(names) - _MOST_TIPS} more"
    if node.macs is not None:
        yield count(node.macs, "multiply-add")
    if node.doc:
        yield shortened(visible(node.doc), 200)


# ---------------------------------------------------------------- words


def _edge_text(value: ViewValue | None) -> str:
    """The shape of a tensor, with its type unless that is the usual one."""
    if value is None or value.shape is None:
        return ""
    dims = _dims_text(value.shape)
    return shortened(dims if value.type == "float32" else f"{visible(value.type)} {dims}", 34)


def _value_text(value: ViewValue | None) -> str:
    """Type and shape of a tensor."""
    if value is None:
        return ""
    kind = "" if value.type == "unknown" else visible(value.type)
    return kind if value.shape is None else f"{kind} {_dims_text(value.shape)}".strip()


def _dims_text(shape: Dims) -> str:
    """Sizes such as `1×64×7×7`; a single number is a scalar."""
    if not shape:
        return "scalar"
    return "×".join("?" if each is None else visible(str(each)) for each in shape)


def _tensor_text(tensor: ViewTensor) -> str:
    name = shortened(name_of(tensor.name), 18)
    if prod(tensor.shape) <= _MOST_VALUES and tensor.preview:
        return shortened(f"{name} = {visible(tensor.preview)}", _LONGEST + 6)
    kind = "" if tensor.dtype == "float32" else f"{visible(tensor.dtype)} "
    return f"{name} {kind}{_dims_text(tensor.shape)}"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float) -> float:
    """Width of a text in a usual font without serifs; rather too wide than too narrow."""
    return sum(map(_character_width, text)) * size


def _character_width(character: str) -> float:
    if character in _NARROW:
        return 0.40
    if character in _BROAD:
        return 0.95
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    return 0.74 if character.isupper() else 0.63
