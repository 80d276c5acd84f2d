"""A model whose Einsum nodes were replaced, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from onnxperf.records.comparison import Comparison
from onnxperf.records.einsum import Rewrite, RewrittenSite
from onnxperf.render.charts.base import GREEN, GREY, Chart
from onnxperf.render.charts.forest import forest_chart
from onnxperf.render.kit.column import RATIO, TEXT, Column, field_columns
from onnxperf.render.kit.comparison import Compared, ratio_columns
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Part, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.einsum import shapes_words
from onnxperf.render.race.sections import race_sections
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count

_STYLES = {"rewritten": "green", "kept": "", "skipped": "dim"}


def rewrite_page(rewrite: Rewrite, race_notes: Sequence[str] = ()) -> Page:
    """What became of the Einsum nodes and why, the race of the whole models with notes on it, answer, notes."""
    sites: list[Part] = [*sites_charts(rewrite)] or ([sites_table(rewrite)] if rewrite.sites else [])
    reasons = [Line(f"{nodes_text(site)}: {site.reason}") for site in rewrite.sites if site.reason]
    race = race_sections(rewrite.race, "Whole model", "all") if rewrite.race is not None else []
    below = [*(Line(text, "dim", on="screen") for text in race_notes), *_written(rewrite)]
    notes = [*rewrite.notes, *(rewrite.race.notes if rewrite.race is not None else ())]
    return [
        Heading(rewrite.model, machine_texts(rewrite.machine)),
        Section("Einsum nodes", [*sites, *([GAP, *reasons] if reasons else [])]),
        *race,
        *below,
        *answered(rewrite.answer, notes, rewrite.interrupted, "rewritten" if rewrite.output else ""),
    ]


def _written(rewrite: Rewrite) -> list[Line]:
    """Where the rewritten model is, unless the answer has it."""
    is_told = not rewrite.output or rewrite.output in rewrite.answer
    return [] if is_told else [GAP, Line(f"Written to {rewrite.output}")]


def sites_table(rewrite: Rewrite) -> Table[RewrittenSite]:
    """A row per group of equal Einsum nodes: what became of it, and what that gained."""
    *ratios, outcome = ratio_columns(_COMPARED)
    columns: list[Column[RewrittenSite]] = [
        Column("nodes", "nodes", attrgetter("nodes"), TEXT, text=nodes_text, room=20),
        Column("equation", "equation", attrgetter("equation"), TEXT, room=15),
        Column("shapes", "shapes", lambda site: shapes_words(site.shapes), TEXT, 100, room=18),
        *field_columns(RewrittenSite, ("dtype", "graph")),
        outcome._replace(text=lambda site: "kept" if site.outcome == "kept" else _COMPARED.shown(site)),
        Column("speedup_alone", "alone", attrgetter("speedup_alone"), RATIO, 80),
        *ratios,
        *field_columns(RewrittenSite, ("reason",)),
    ]
    return Table(columns, rewrite.sites, style=lambda site: "dim" if site.outcome == "skipped" else "")


def sites_charts(rewrite: Rewrite) -> list[Chart]:
    """What each group of nodes gained in the whole model."""
    tried = [site for site in rewrite.sites if site.speedup is not None]
    summary = (
        f"Speedups of the whole model with {count(len(tried), 'group')} of equal Einsum nodes replaced, one at a time, "
        "with 95 % intervals; right of 1 is faster than with the Einsum."
    )
    return forest_chart("Gain by node", summary, _COMPARED, tried, table=sites_table(rewrite))


def nodes_text(site: RewrittenSite) -> str:
    """The first node of a group, and how many more there are."""
    return first_of([name_of(node) for node in site.nodes or ("",)], 1)


_COMPARED: Compared[RewrittenSite] = Compared(
    name=nodes_text,
    # Its reason stands below the table.
    of=lambda site: Comparison(ratio=site.speedup, low=site.speedup_low, high=site.speedup_high),
    word=attrgetter("outcome"),
    ratio="in model",
    verdict="outcome",
    axis="speedup of the whole model",
    color=lambda site: GREEN if site.outcome == "rewritten" else GREY,
    style=lambda site: _STYLES[site.outcome],
    tooltip=lambda site: f"{site.equation}\n{site.graph}",
)
