"""A model whose Einsum nodes were replaced, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.records.einsum import Rewrite, RewrittenSite
from onnxperf.records.race import Case
from onnxperf.render.kit.machine import machine_texts
from onnxperf.render.kit.old_table import Column, Row, Table, without_empty
from onnxperf.render.kit.page import GAP, Heading, Line, Part, closing
from onnxperf.render.race.einsum import shapes_words
from onnxperf.render.race.page import speedup_text, status_text
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import duration, interval, ratio

_OUTCOME_STYLES = {"rewritten": "green", "kept": "", "skipped": "dim"}
_OUTCOME = 3
"""Place of the coloured column."""


def rewrite_page(rewrite: Rewrite, race_notes: Sequence[str] = ()) -> list[Part]:
    """What became of the Einsum nodes and why, the race of the whole models with notes on it, answer, notes."""
    reasons = [f"{nodes_text(site)}: {site.reason}" for site in rewrite.sites if site.reason]
    notes = [*rewrite.notes, *(rewrite.race.notes if rewrite.race is not None else ())]
    lines = [
        Line(text) for text in (*reasons, whole_race_text(rewrite.race), *race_notes, written_text(rewrite)) if text
    ]
    return [
        Heading(rewrite.model, machine_texts(rewrite.machine)),
        *([sites_table(rewrite)] if rewrite.sites else []),
        *([GAP, *lines] if lines else []),
        *closing(rewrite.answer, notes, rewrite.interrupted),
    ]


def sites_table(rewrite: Rewrite) -> Table:
    """A row per group of equal Einsum nodes: what became of it, and what that gained."""
    columns = (
        Column("nodes", left=True, room=20),
        Column("equation", left=True, room=15),
        Column("shapes", left=True, rank=3, room=18),
        Column("outcome", left=True),
        Column("alone", rank=2),
        Column("in model"),
        Column("95 % interval", rank=1),
    )
    rows = []
    for site in rewrite.sites:
        compared = site.speedup is not None
        cells = (
            nodes_text(site),
            site.equation,
            shapes_words(site.shapes),
            site.outcome,
            "" if site.speedup_alone is None else ratio(site.speedup_alone),
            ratio(site.speedup) if compared else "",
            interval(site.speedup_low, site.speedup_high) if compared else "",
        )
        style = _OUTCOME_STYLES[site.outcome]
        rows.append(Row(cells, "dim" if site.outcome == "skipped" else "", {_OUTCOME: style}))
    return without_empty(Table(columns, rows))


def nodes_text(site: RewrittenSite) -> str:
    """The first node of a group, and how many more there are."""
    return first_of([name_of(node) for node in site.nodes or ("",)], 1)


def whole_race_text(race: Case | None) -> str:
    """Times of the original and of the rewritten model, and what the race says about them."""
    subjects = race.subjects if race is not None else ()
    first = subjects[0] if subjects else None
    base = next((each for each in subjects if race is not None and each.name == race.baseline), first)
    rival = next((each for each in subjects if each is not base), None)
    if base is None or rival is None:
        return ""
    broken = next((each for each in (base, rival) if each.status != "ok" or each.time_ns is None), None)
    if broken is not None:
        return f"Raced: {name_of(broken.name)} {status_text(broken)}"
    times = ", ".join(f"{name_of(each.name)} {duration(each.time_ns)}" for each in (base, rival))
    return f"Raced: {times}{'' if rival.speedup is None else f': {speedup_text(rival)}'}"


def written_text(rewrite: Rewrite) -> str:
    """Where the rewritten model is, unless the answer has it."""
    is_known = not rewrite.output or rewrite.output in rewrite.answer
    return "" if is_known else f"Written to {rewrite.output}"
