"""Charts of a sweep: a map of which subject is faster where, and times over one dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records.sweep import Duel, SweepPanel, values_of
from onnxperf.render.kit import old_chart as fg
from onnxperf.render.race.bench_chart import ROW, TITLE_ALONE, bench_plot
from onnxperf.render.race.sweep_lines import NAME_LENGTH, draw_lines, legend_lines
from onnxperf.wording.names import name_of, shortened, visible
from onnxperf.wording.numbers import count, interval, ratio
from onnxperf.wording.spans import in_one, kind_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    Colour = tuple[float, float, float, float]

MAX_PANELS = 12
_SMALL = fg.FONT - 1.5
MAX_WRITTEN = 400
"""Cells of a map that have their speedup written in."""
_UNDECIDED, _EQUAL = "#D0D0D0", "#BFE3D6"
_UNJUDGED_WORDS = {"undecided": "undecided", "equivalent": "equal"}
"""Written below a speedup without a winner."""
_MOST_REASONS = 3
_REASON_LENGTH = 72
_LEGEND_LINE = 0.3
"""Height of a reason in inches, and of what has to leave its line because of it."""
_BESIDE_MAP, _ABOVE_MAP = 1.0, 2.2
"""Inches of a map that are not cells."""
_LEGEND_ROW = 0.19
"""Height of a line of a legend in inches."""
_BASELINE_WINS, _RIVAL_WINS = fg.RED, fg.BLUE
_STRONGEST = 3.0
"""Times as fast at which a colour is full at the latest."""
_WEAKEST = 1.25
_PALEST = 0.25
"""Part of the full colour that a win has at least, so that it does not look like no win."""


def crossover_plot(panel: SweepPanel, ax: Axes | None = None) -> Axes:
    """A map of the speedup over two dimensions: coloured by verdict, and a line where the winner changes."""
    pair = panel.pair
    if pair is None:
        raise AssertionError("a map compares two subjects")
    if ax is None:
        figure = fg.new_figure(*_panel_size(panel))
        fg.entitle(figure, _map_title(pair), panel.title)
        ax = figure.subplots()
        _draw_map(ax, panel, pair)
    else:
        fg.name_given(ax, panel.title, _draw_map(ax, panel, pair))
    return ax


def sweep_plot(panels: Sequence[SweepPanel], ax: Axes | None = None) -> Axes:
    """A panel per model: a map where two dimensions vary, lines where one does, bars where none does.

    Dimensions beyond two make panels of their own. The axes that is returned is the first.
    """
    if not panels:
        raise BadOption("there is no case to draw")
    if ax is not None:
        if len(panels) > 1:
            raise BadOption(f"{len(panels)} charts do not fit on one axes; leave it out, or choose a model or a case")
        fg.name_given(ax, panels[0].title, _draw_panel(ax, panels[0]))
        return ax
    drawn = panels[:MAX_PANELS]
    columns = min(len(drawn), 2 if len(drawn) < 5 else 3)
    rows = -(-len(drawn) // columns)
    sizes = [_panel_size(panel) for panel in drawn]
    figure = fg.new_figure(max(w for w, _ in sizes) * columns, max(h for _, h in sizes) * rows)
    models = dict.fromkeys(name_of(case.model) for panel in panels for case in panel.cases)
    left_out = f" · {count(len(panels) - MAX_PANELS, 'more panel')} left out" if len(panels) > MAX_PANELS else ""
    fg.entitle(figure, _title(panels) + left_out, ", ".join(models))
    every = list(figure.subplots(rows, columns, squeeze=False).flat)
    for each, panel in zip(every, drawn, strict=False):
        lines = _draw_panel(each, panel)
        if len(drawn) > 1:
            fg.name_panel(each, panel.title, lines)
    for each in every[len(drawn) :]:
        each.set_visible(False)
    return figure.axes[0]


# ---------------------------------------------------------------- panels


def _draw_panel(ax: Axes, panel: SweepPanel) -> int:
    """Draw what suits the panel; returns how many lines its legend has."""
    if len(panel.dims) == 2 and panel.pair is not None:
        return _draw_map(ax, panel, panel.pair)
    if panel.dims and len(panel.cases) > 1:
        return draw_lines(ax, panel.cases, panel.dims[0], panel.dims[1:])
    bench_plot(panel.cases[0], ax)
    ax.set_title("")
    return 0


def _panel_size(panel: SweepPanel) -> tuple[float, float]:
    if len(panel.dims) == 2:
        rows, columns = (len(values_of(panel.cases, dim)) for dim in panel.dims)
        width, height = _map_size(rows, columns)
        return width, height + _LEGEND_LINE * len(_undecided_texts(panel.duels.values()))
    if panel.dims:
        return 8.5, 4.8 + _LEGEND_ROW * legend_lines(panel.cases, panel.dims[1:])
    return 9.0, 2.4 + ROW * len(panel.cases[0].subjects)


def _map_size(rows: int, columns: int) -> tuple[float, float]:
    return min(max(6.8, 1.6 + 0.95 * columns), 20.0), min(max(4.0, 2.2 + 0.55 * rows), 16.0)


def _title(panels: Sequence[SweepPanel]) -> str:
    pairs = {panel.pair for panel in panels}
    pair = next(iter(pairs))
    if all(len(panel.dims) == 2 for panel in panels) and len(pairs) == 1 and pair is not None:
        return _map_title(pair)
    return TITLE_ALONE


# ---------------------------------------------------------------- the map


def _map_title(pair: tuple[str, str]) -> str:
    baseline, rival = (shortened(name_of(name), NAME_LENGTH) for name in pair)
    return f"Speedup of {rival} against {baseline}"


def _draw_map(ax: Axes, panel: SweepPanel, pair: tuple[str, str]) -> int:
    down, across = (values_of(panel.cases, dim) for dim in panel.dims)
    duels = {
        (row, column): panel.duels[size, other]
        for row, size in enumerate(down)
        for column, other in enumerate(across)
        if (size, other) in panel.duels
    }
    strongest = _strongest(duels.values())
    colours = {place: _colour(duel, strongest) for place, duel in duels.items()}
    nothing = (1.0, 1.0, 1.0, 0.0)
    image = [[colours.get((row, column), nothing) for column in range(len(across))] for row in range(len(down))]
    ax.imshow(image, aspect="auto", interpolation="nearest", zorder=1)
    room = _cell_room(ax, len(across), len(down)) if len(duels) <= MAX_WRITTEN else (0.0, 0)
    for place, duel in duels.items():
        _fill_cell(ax, place, duel, colours[place], room)
    changes = _draw_changes(ax, duels)
    _dress_map(ax, (down, across), panel.dims)
    ends_written = any("…" in _words(duel, room)[1] for duel in duels.values())
    return _explain_map(ax, list(duels.values()), pair, changes, ends_written)


def _strongest(duels: Iterable[Duel]) -> float:
    """The logarithm of the speedup, or of its inverse, at which a colour is full."""
    widest = max((abs(math.log2(duel.speedup)) for duel in duels if duel.speedup and duel.decided), default=0.0)
    return min(max(widest, math.log2(_WEAKEST)), math.log2(_STRONGEST))


def _colour(duel: Duel, strongest: float) -> Colour:
    from matplotlib.colors import to_rgba

    if duel.speedup is None:
        return (1.0, 1.0, 1.0, 1.0)
    if not duel.decided:
        return to_rgba(_EQUAL if duel.verdict == "equivalent" else _UNDECIDED)
    full = to_rgba(_RIVAL_WINS if duel.verdict == "faster" else _BASELINE_WINS)
    share = min(abs(math.log2(duel.speedup)) / strongest, 1.0)
    share = _PALEST + (0.9 - _PALEST) * share
    red, green, blue = (1 - share * (1 - part) for part in full[:3])
    return red, green, blue, 1.0


def _cell_room(ax: Axes, columns: int, rows: int) -> tuple[float, int]:
    """Width of a cell in inches, and the lines that it has room for."""
    width, height = _map_size(rows, columns)
    width, height = fg.size_of(ax, width - _BESIDE_MAP, height - _ABOVE_MAP)
    return width / columns, int(72 * height / rows / (1.25 * fg.FONT))


def _words(duel: Duel, room: tuple[float, int]) -> tuple[str, str]:
    """The speedup, and in small what else is to say and its interval, as far as the cell has room for them."""
    width, most = room
    speedup = duel.word if duel.speedup is None else ratio(duel.speedup)
    ends = interval(duel.low, duel.high) if duel.low is not None and duel.high is not None else ""
    small = ["", ""] if duel.speedup is None else [_UNJUDGED_WORDS.get(duel.verdict or "", ""), ends]
    fits = [bool(line) and width > 0 and fg.text_part(f"{line} ", width) <= 1 for line in (speedup, *small)]
    if not fits[0]:
        return "", ""
    below = [line for line, fitting in zip(small, fits[1:], strict=True) if fitting]
    return speedup, "\n".join(below[: most - 1])


def _fill_cell(ax: Axes, place: tuple[int, int], duel: Duel, colour: Colour, room: tuple[float, int]) -> None:
    from matplotlib.patches import Rectangle

    row, column = place
    if duel.speedup is None:
        corner = (column - 0.5, row - 0.5)
        ax.add_patch(
            Rectangle(corner, 1, 1, facecolor="white", edgecolor="#BBBBBB", hatch="///", linewidth=0, zorder=2)
        )
    speedup, small = _words(duel, room)
    light = 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] > 0.55
    box = {"boxstyle": "square,pad=0.15", "facecolor": "white", "edgecolor": "none"} if duel.speedup is None else None
    how: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": fg.INK if light else "white"}
    how |= {"parse_math": False, "zorder": 4}
    weight = "bold" if duel.decided else "normal"
    if speedup:
        # With small words below it, the speedup moves up so that both are in the middle.
        up = (1 + small.count("\n")) * _SMALL * 0.6 if small else 0
        ax.annotate(speedup, (column, row), (0, up), va="center", fontsize=fg.FONT, fontweight=weight, bbox=box, **how)
        if small:
            ax.annotate(small, (column, row), (0, up - fg.FONT / 2 - 1), va="top", fontsize=_SMALL, **how)


def _draw_changes(ax: Axes, duels: dict[tuple[int, int], Duel]) -> bool:
    """Lines between neighbours of which one is faster and the other slower, by their verdicts."""
    lines = []
    for (row, column), duel in duels.items():
        edges = {
            (row, column + 1): ((column + 0.5, row - 0.5), (column + 0.5, row + 0.5)),
            (row + 1, column): ((column - 0.5, row + 0.5), (column + 0.5, row + 0.5)),
        }
        for place, edge in edges.items():
            other = duels.get(place)
            if other and duel.decided and other.decided and duel.verdict != other.verdict:
                lines.append(edge)
    if lines:
        from matplotlib.collections import LineCollection

        drawn = LineCollection(lines, colors="black", linewidths=2.6, capstyle="projecting", zorder=3)
        ax.add_collection(drawn, autolim=False)
    return bool(lines)


def _dress_map(ax: Axes, sizes: tuple[Sequence[int], Sequence[int]], dims: Sequence[str]) -> None:
    down, across = sizes
    ax.set_yticks(range(len(down)), [str(size) for size in down], fontsize=fg.FONT)
    ax.set_xticks(range(len(across)), [str(size) for size in across], fontsize=fg.FONT)
    names = [shortened(name_of(dim), NAME_LENGTH) for dim in dims]
    ax.set_ylabel(names[0], fontsize=fg.FONT + 0.5, parse_math=False)
    ax.set_xlabel(names[1], fontsize=fg.FONT + 0.5, parse_math=False)
    ax.set_xlim(-0.5, len(across) - 0.5)
    ax.set_ylim(len(down) - 0.5, -0.5)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    # White gaps part the cells.
    for place in range(1, len(across)):
        ax.axvline(place - 0.5, color="white", linewidth=1.2, zorder=2.5)
    for place in range(1, len(down)):
        ax.axhline(place - 0.5, color="white", linewidth=1.2, zorder=2.5)


def _explain_map(ax: Axes, duels: Sequence[Duel], pair: tuple[str, str], changes: bool, ends_written: bool) -> int:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    baseline, rival = (f"{shortened(name_of(name), NAME_LENGTH)} is faster" for name in pair)
    # Both are named even where neither wins.
    colours = [(_RIVAL_WINS, rival), (_BASELINE_WINS, baseline)]
    if any(duel.verdict == "equivalent" for duel in duels):
        colours.append((_EQUAL, "equally fast"))
    colours += ((_UNDECIDED, text) for text in _undecided_texts(duels))
    # A space comes first because matplotlib leaves out what begins with an underscore.
    handles: list[Patch | Line2D] = [Patch(color=colour, label=f" {text}") for colour, text in colours]
    if any(duel.speedup is None for duel in duels):
        handles.append(Patch(facecolor="white", edgecolor="#BBBBBB", hatch="////", label=" not compared"))
    if changes:
        handles.append(Line2D([], [], color="black", linewidth=2.6, label=" the winner changes"))
    if ends_written:
        handles.append(Line2D([], [], linestyle="", label=" small print: 95 % interval of the speedup"))
    return fg.legend(ax, handles)


def _undecided_texts(duels: Iterable[Duel]) -> list[str]:
    """Why cells are undecided, the most frequent reason first."""
    found: dict[str, list[str]] = {}
    for duel in duels:
        if duel.verdict == "undecided":
            found.setdefault(kind_of(duel.reason), []).append(duel.reason)
    reasons = sorted(found.values(), key=len, reverse=True)
    texts = [
        f"undecided in {count(len(alike), 'cell')}: {shortened(visible(in_one(alike)), _REASON_LENGTH)}"
        for alike in reasons[:_MOST_REASONS]
    ]
    rest = sum(map(len, reasons[_MOST_REASONS:]))
    return [*texts, f"undecided in {count(rest, 'cell')} for other reasons"] if rest else texts
