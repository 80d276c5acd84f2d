"""Where the time of many calls goes, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxperf.records.stack import FunctionTime, Stack
from onnxperf.render.charts.bars import BarSeries, bars, bars_chart
from onnxperf.render.charts.base import BLUE, GREY, SKY, Chart, time_unit
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Section, Verbatim, answered
from onnxperf.render.kit.table import On
from onnxperf.render.stack.allocations import allocation_parts
from onnxperf.render.stack.flame import NativeSample, native_charts, tree_charts
from onnxperf.render.stack.tables import busiest, functions_table, libraries_table, native_table, tree_functions_table
from onnxperf.wording.names import name_of, shortened
from onnxperf.wording.numbers import count, duration, percent

TOP = 15
"""Rows of tables on a screen, unless more are asked for."""
_TREE = "Tree of calls, with shares of the time"
_HINT = Line("A click enlarges a frame; Whole, or the key 0, shows all.", "dim", on="page")
_BUILT_IN = "<built-in>"
_MOST_BARS = 20
_LABEL = 60
"""Characters of a function in the chart."""


def stack_page(
    record: Stack,
    functions: Sequence[FunctionTime],
    tree: Verbatim | None = None,
    top: int = TOP,
    samples: Sequence[NativeSample] = (),
) -> Page:
    """The busiest functions; the tree, which a record from a store lacks; the memory taken, the answer, the notes."""
    facts = [record.runtime, record.call or "", count(record.calls, "call")]
    allocations = allocation_parts(record.allocations, top) if record.allocations is not None else []
    flame = [*tree_charts(record), *([_HINT] if record.frames else [])]
    in_flame = [tree_functions_table(record, functions), *([tree] if tree is not None else [])]
    shown = [GAP, Line(_TREE, "bold"), tree] if tree is not None else []
    return [
        Heading(record.name, facts),
        Section("Functions", [*self_charts(record, "page"), functions_table(record, top, "screen")]),
        Section("Tree", shown, on="screen"),
        Section("Tree of calls", flame, on="page"),
        Section("Tree and its functions as text", in_flame, "page", folded=True),
        Section("Compiled functions", _native_parts(record, top, samples)),
        Section("Memory that is taken", allocations),
        *answered(record.answer, record.notes, amount=(duration(record.call_ns), "per call")),
    ]


def _native_parts(record: Stack, top: int, samples: Sequence[NativeSample]) -> list[Any]:
    """The libraries, the busiest functions, and on a page their flame graph, which a record from a store lacks."""
    if not record.native:
        return []
    charts = [each._replace(on="page") for each in native_charts(record, samples)]
    tables = [native_table(record, top, "screen"), *([] if charts else [native_table(record, on="page")])]
    return [libraries_table(record), *tables, *charts]


def self_charts(record: Stack, on: On = "all") -> list[Chart]:
    """A bar per function: its own time in a call, wherever in the tree it was called."""
    order = busiest(record)
    if not order:
        return []
    shown, rest = order[:_MOST_BARS], order[_MOST_BARS:]
    shares = [each.share for each in shown]
    names = [shortened(name_of(f"{each.function}  {each.file}"), _LABEL) for each in shown]
    colors = [SKY if each.file == _BUILT_IN else BLUE for each in shown]
    if rest:
        shares.append(sum(each.share for each in rest))
        names.append(count(len(rest), "other"))
        colors.append(GREY)
    times = [share * record.call_ns for share in shares]
    words = [f"{duration(ns)}, {percent(share)}" for ns, share in zip(times, shares, strict=True)]
    legend = [each for each in (("Python", BLUE), ("built-in", SKY)) if each[1] in colors]
    summary = (
        f"Self time of {count(len(order), 'function')}, of {duration(record.call_ns)} per call; "
        f"{name_of(shown[0].function)} takes the most, {words[0]}."
    )
    series = BarSeries("self time", times, words, colors=colors)
    picture = bars(names, [series], "self time per call", time_unit(times), legend=legend)
    return [bars_chart("Self time per function", summary, picture, functions_table(record), on)]
