"""A profile on a page: operators, nodes, modules and original nodes, linked with each other; first and usual times."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.profile import ModuleTime, Profile, SourceTime, Timeline, module_link, operator_link, sum_of
from onnxperf.render.kit.old_table import Column, Row, Table, chosen
from onnxperf.render.profile.groups import TIMELESS
from onnxperf.render.profile.tables import (
    costly_tree,
    estimator,
    modules_table,
    nodes_table,
    operators_table,
    sources_table,
)
from onnxperf.render.web.bars import BarSeries, bars, time_unit
from onnxperf.render.web.old_base import Chart, LinkedTable, Part, Section
from onnxperf.render.web.sections.graph import NO_GRAPH, DrawnGraph, graph_section
from onnxperf.render.web.sections.headroom import headroom_sections
from onnxperf.render.web.sections.timeline import timeline_sections
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count, grouped, microseconds, percent, ratio

MOST_ROWS = 2_000
"""Rows of a table of nodes: a page has a size, and nobody reads more."""
_OPERATORS, _NODES, _FIRST = 14, 20, 12
"""Bars of a chart."""
_NAMES = 3
"""Original nodes that a row names; the others are a number."""


def profile_sections(
    profile: Profile, timeline: Timeline | None = None, graph: DrawnGraph | None = None
) -> list[Section]:
    """The whole story of a profile; a timeline may be longer than the record's, and the graph is not in the record."""
    return [
        *time_sections(profile),
        *([graph_section(graph)] if graph is not None else [NO_GRAPH] if profile.nodes else []),
        *origin_sections(profile),
        *timeline_sections(profile, timeline or profile.timeline),
        *first_sections(profile),
        *headroom_sections(profile),
    ]


def time_sections(profile: Profile) -> list[Section]:
    """Where the time goes: by operator and by node."""
    if not profile.nodes:
        return []
    return [
        Section(
            "Operators", [operator_bars(profile), LinkedTable(operators_table(profile), [*_operator_keys(profile), ""])]
        ),
        Section("Nodes", [node_bars(profile), linked_nodes(profile)]),
    ]


def origin_sections(profile: Profile) -> list[Section]:
    """Where the time goes in the model as it was written: original nodes, and modules."""
    parts: list[Part] = []
    modules, sources = linked_modules(profile), linked_sources(profile)
    parts += [modules] if modules is not None else []
    parts += [sources] if sources is not None else []
    return [Section("Original model", parts)] if parts else []


# ---------------------------------------------------------------- operators


def operator_bars(profile: Profile) -> Chart:
    """A bar for each of the most costly operators."""
    costly = sorted(profile.operators, key=lambda each: -each.usual_us)
    kept, rest = costly[:_OPERATORS], costly[_OPERATORS:]
    times = [each.usual_us for each in kept] + ([sum_of(rest)] if rest else [])
    names = [each.op_name for each in kept] + ([count(len(rest), "other operator")] if rest else [])
    keys = [operator_link(each.op_name) for each in kept] + ([""] if rest else [])
    first = costly[0]
    summary = (
        f"Time of {count(len(costly), 'operator')} in the usual inference. {name_of(first.op_name)} takes the most: "
        f"{microseconds(first.usual_us)}, {_share(profile, first.usual_us)} of the time in nodes."
    )
    return bars("Time per operator", summary, names, [_timed(profile, times)], time_unit(times), keys)


def _operator_keys(profile: Profile) -> list[str]:
    """In the order of the table."""
    return [operator_link(each.op_name) for each in sorted(profile.operators, key=lambda each: -each.usual_us)]


def _timed(profile: Profile, times: Sequence[float]) -> BarSeries:
    whole = profile.usual_nodes_us
    return BarSeries("", times, [f"{microseconds(us)}, {percent(us / whole if whole else None)}" for us in times])


def _share(profile: Profile, us: float) -> str:
    return percent(us / profile.usual_nodes_us if profile.usual_nodes_us else None)


# ---------------------------------------------------------------- nodes


def node_bars(profile: Profile) -> Chart:
    """A bar for each of the most costly nodes."""
    links = profile.node_links
    costly = sorted(range(len(profile.nodes)), key=lambda place: -profile.nodes[place].usual_us)
    kept, rest = costly[:_NODES], costly[_NODES:]
    most = [profile.nodes[place] for place in kept]
    times = [node.usual_us for node in most]
    names = [" > ".join((*node.path, node.name)) for node in most]
    keys = [links[place] for place in kept]
    together = sum_of(most)
    summary = (
        f"The {count(len(kept), 'node')} that take the most time in the usual inference: together "
        f"{microseconds(together)}, {_share(profile, together)} of the time in nodes"
        f"{f'; the other {grouped(len(rest))} take the rest' if rest else ''}."
    )
    return bars("Time per node", summary, names, [_timed(profile, times)], time_unit(times), keys)


def linked_nodes(profile: Profile) -> LinkedTable:
    """A row per node, with the original nodes that it was made of; bodies stand below their node."""
    table = nodes_table(profile, MOST_ROWS)
    places = [place for place, _ in costly_tree(profile, MOST_ROWS)]
    nodes, links = [profile.nodes[place] for place in places], profile.node_links
    extra = {
        "from": [first_of(list(map(name_of, node.sources)), _NAMES) for node in nodes],
        "module": [name_of(node.module) if node.module else "" for node in nodes],
    }
    kept = {heading: texts for heading, texts in extra.items() if any(texts)}
    others = len(table.rows) - len(places)
    cells = [list(each) for each in zip(*kept.values(), strict=True)] if kept else [[] for _ in places]
    rows = [
        row._replace(cells=[*row.cells, *more])
        for row, more in zip(table.rows, [*cells, *([[""] * len(kept)] * others)], strict=True)
    ]
    columns = [*table.columns, *(Column(heading, left=True) for heading in kept)]
    keys = [*(links[place] for place in places), *([""] * others)]
    return LinkedTable(Table(columns, rows, table.title.replace("The most costly nodes", "Time per node")), keys)


# ---------------------------------------------------------------- the original model


def linked_sources(profile: Profile) -> LinkedTable | None:
    """A row per group of original nodes that is executed; None where the optimiser changed nothing."""
    table = sources_table(profile, MOST_ROWS)
    if table is None:
        return None
    timed: list[SourceTime] = [each for each in profile.sources if each.group.kind not in TIMELESS]
    keys = [each.group.link for each in sorted(timed, key=lambda each: -each.usual_us)][:MOST_ROWS]
    turned = chosen(table, [1, 0, 2, 3, 4])  # what is linked stands first
    rows = [row._replace(cells=[row.cells[0] or "(none)", *row.cells[1:]]) for row in turned.rows]
    return LinkedTable(turned._replace(rows=rows), _filled(keys, len(rows)))


def linked_modules(profile: Profile) -> LinkedTable | None:
    """A row per module; a click lights all of its nodes."""
    table = modules_table(profile, MOST_ROWS)
    if table is None:
        return None
    costly = sorted(profile.modules, key=lambda module: -module.usual_total_us)[:MOST_ROWS]
    shown = {module.module for module in costly}
    listed: list[ModuleTime] = [module for module in profile.modules if module.module in shown]
    return LinkedTable(table, _filled([module_link(module.module) for module in listed], len(table.rows)))


def _filled(keys: Sequence[str], rows: int) -> list[str]:
    """Rows for what is left out stand for nothing."""
    return [*keys, *([""] * (rows - len(keys)))]


# ---------------------------------------------------------------- first against usual


def first_sections(profile: Profile) -> list[Section]:
    """The first inference against the usual one, by operator; and all of them in a row."""
    runs = profile.run_us
    if len(runs) < 3:
        return []
    return [Section("First and usual inference", [iterations_chart(profile), first_bars(profile)])]


def first_bars(profile: Profile) -> Chart:
    """Two bars per operator: the first inference, which allocates and fills caches, and the usual one."""
    ranked = sorted(profile.operators, key=lambda each: -max(each.self_us[0], each.usual_us))
    kept, rest = ranked[:_FIRST], ranked[_FIRST:]
    names = [each.op_name for each in kept] + ([count(len(rest), "other operator")] if rest else [])
    first = [float(each.self_us[0]) for each in kept] + ([float(sum(each.self_us[0] for each in rest))] if rest else [])
    usual = [each.usual_us for each in kept] + ([sum_of(rest)] if rest else [])
    keys = [operator_link(each.op_name) for each in kept] + ([""] if rest else [])
    series = [
        BarSeries("first inference", first, [microseconds(us) for us in first], 1),
        BarSeries("usual inference", usual, [microseconds(us) for us in usual], 0),
    ]
    summary = (
        "Time per operator in the first inference, which takes memory and fills caches, and in the usual one: "
        f"{microseconds(sum(first))} in nodes against {microseconds(sum(usual))}"
        f"{f', {ratio(sum(first) / sum(usual))}' if sum(usual) > 0 else ''}."
    )
    return bars("First inference by operator", summary, names, series, time_unit([*first, *usual]), keys)


def iterations_chart(profile: Profile) -> Chart:
    """How long each inference took, the first one first."""
    runs = profile.run_us
    scale, axis = time_unit(runs, "")
    usual = profile.usual_run_us or 0.0
    words = [f"inference {number}: {microseconds(us)}" for number, us in enumerate(runs)]
    data = {
        "x": "inference, from 0",
        "y": axis,
        "curves": [
            {
                "name": "inference",
                "xs": list(range(len(runs))),
                "ys": [us / scale for us in runs],
                "words": words,
                "colour": 0,
                "dots": True,
            }
        ],
        "levels": [{"y": usual / scale, "name": f"usual {microseconds(usual)}", "shown": True}],
    }
    columns = [Column("inference"), Column("time"), Column("in nodes")]
    inside = [run - outside for run, outside in zip(runs, profile.outside_us, strict=False)]
    cells = [
        [str(number), microseconds(us), microseconds(inside[number] if number < len(inside) else None)]
        for number, us in enumerate(runs)
    ]
    summary = (
        f"{count(len(runs), 'inference')} in the trace: the first took {microseconds(runs[0])}, the others "
        f"{microseconds(min(runs[1:]))} to {microseconds(max(runs[1:]))}; the usual one, the {estimator(profile)}, "
        f"{microseconds(usual)}."
    )
    return Chart("curve", "Every inference", summary, data, Table(columns, [Row(each) for each in cells]), 260)
