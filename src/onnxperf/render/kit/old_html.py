"""Results as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from onnxperf.records import Check, Diff, EinsumPlan, Machine, Optimization, Profile, Rewrite
from onnxperf.records.convert import Conversion
from onnxperf.render.kit.machine import machine_facts
from onnxperf.render.kit.table import Row, Table
from onnxperf.render.profile.changes import counts_sheet, diff_sheet, group_lines, race_line, sides_sheet
from onnxperf.render.profile.profile import SHORT_LIST, diff_facts, optimization_facts, profile_facts, profile_times
from onnxperf.render.profile.timings import node_sheet, operator_sheet, source_sheet, timeless
from onnxperf.render.race import convert
from onnxperf.render.race.check import COLUMNS, cells
from onnxperf.render.race.check import sentence as answer
from onnxperf.render.race.einsum import (
    machine_texts,
    plan_facts,
    plan_notes,
    race_sheet,
    search_text,
    sites_sheet,
    whole_race_text,
    winner_texts,
    written_text,
)
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import UNICODE

# Colours of middle lightness, and lines half transparent: both hold on white and on black.
_VERDICT_COLOURS = {"faster": "#1a9e6b", "slower": "#e0532f", "undecided": "#c98a00"}
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.3em .8em;border:0;white-space:nowrap;background:transparent;color:inherit"
_STRONG = "font-weight:600"
_INDENTED = ";white-space:pre"
# The styles of the console's rows; signs and words say the same as the colours.
_STYLES = {
    "dim": ";opacity:.7",
    "bold": f";{_STRONG}",
    "red": f";color:{_VERDICT_COLOURS['slower']}",
    "green": f";color:{_VERDICT_COLOURS['faster']}",
    "yellow": f";color:{_VERDICT_COLOURS['undecided']}",
}


def doctor_html(machine: Machine, extra: Sequence[tuple[str, str]], sentence: str) -> str:
    """What is known about a machine, and what that means."""
    facts = [*machine_facts(machine), *extra]
    rows = "".join(_row([_cell("th", name, "left"), _cell("td", text, "left")]) for name, text in facts)
    return page_html(f"{_table(rows)}{paragraph_html(sentence, 'font-weight:600')}")


def check_html(check: Check) -> str:
    """Every output with its differences, and the answer."""
    rows = [cells(output) for output in check.outputs]
    return page_html(f"{_plain_table(COLUMNS, rows)}{paragraph_html(answer(check), _STRONG)}")


def conversion_html(record: Conversion) -> str:
    """Where the model came from, its inputs and outputs, and whether it agrees with its source."""
    heading = paragraph_html(" · ".join([name_of(record.model), *convert.facts(record)]), _STRONG)
    table = _plain_table(convert.COLUMNS, convert.interface(record))
    return page_html(f"{heading}{table}{end_html(convert.sentence(record), record.notes)}")


def profile_html(profile: Profile, top: int = 10) -> str:
    """Time per operator, the most costly nodes and the groups of the original model, the answer and the notes."""
    sources = source_sheet(profile, UNICODE, top)
    without_time = timeless(source.group for source in profile.sources)
    return page_html(
        "".join(
            [
                paragraph_html(" · ".join([name_of(profile.model), *profile_facts(profile)]), _STRONG),
                paragraph_html(" · ".join(profile_times(profile, UNICODE)), ""),
                sheet_html(operator_sheet(profile, UNICODE), "Time per iteration"),
                sheet_html(node_sheet(profile, UNICODE, top), "The most costly nodes"),
                "" if sources is None else sheet_html(sources, "In the original model"),
                *(paragraph_html(line, "") for line in without_time),
                end_html(profile.answer, profile.notes),
            ]
        )
    )


def diff_html(diff: Diff, min_share: float = 0.01) -> str:
    """Both sides, what the race says, the nodes side by side, the answer and the notes."""
    heading = f"{name_of(diff.base.model)} against {name_of(diff.opti.model)}"
    told = race_line(diff.race, UNICODE) if diff.race is not None else ""
    return page_html(
        "".join(
            [
                paragraph_html(" · ".join([heading, *diff_facts(diff)]), _STRONG),
                sheet_html(sides_sheet(diff, UNICODE)),
                paragraph_html(told, ""),
                sheet_html(diff_sheet(diff, UNICODE, min_share)),
                end_html(diff.answer, diff.notes),
            ]
        )
    )


def optimization_html(record: Optimization) -> str:
    """Operators before and after, what became of the nodes, and the file."""
    parts = [
        paragraph_html(" · ".join([name_of(record.model), *optimization_facts(record)]), _STRONG),
        sheet_html(counts_sheet(record, UNICODE)),
    ]
    for heading, lines in group_lines(record, SHORT_LIST):
        parts += [paragraph_html(heading, _STRONG), *(paragraph_html(line, "margin-left:1em") for line in lines)]
    written = f"Written to {record.output}." if record.output else ""
    return page_html("".join([*parts, end_html(written, record.notes)]))


def einsum_html(plan: EinsumPlan) -> str:
    """What was searched, the winner, the final race, the answer and the notes."""
    return page_html(
        "".join(
            [
                paragraph_html(" · ".join([name_of(plan.equation), *plan_facts(plan)]), _STRONG),
                paragraph_html(search_text(plan), ""),
                paragraph_html(" · ".join(winner_texts(plan)), ""),
                sheet_html(race_sheet(plan)),
                end_html(plan.answer, plan_notes(plan)),
            ]
        )
    )


def rewrite_html(rewrite: Rewrite) -> str:
    """What became of the Einsum nodes and why, the race of the whole models, the answer and the notes."""
    return page_html(
        "".join(
            [
                paragraph_html(" · ".join([name_of(rewrite.model), *machine_texts(rewrite.machine)]), _STRONG),
                sheet_html(sites_sheet(rewrite)),
                paragraph_html(whole_race_text(rewrite.race), ""),
                paragraph_html(written_text(rewrite), ""),
                end_html(rewrite.answer, rewrite.notes),
            ]
        )
    )


def sheet_html(sheet: Table, heading: str = "") -> str:
    """A table under its heading; nothing where it has no rows."""
    if not sheet.rows:
        return ""
    sides = ["left" if column.left else "right" for column in sheet.columns]
    head = _row(_cell("th", column.heading, side) for column, side in zip(sheet.columns, sides, strict=True))
    body = "".join(
        _row(
            _cell("td", cell, side, _look(row, place) + (_INDENTED if cell.startswith(" ") else ""))
            for place, (cell, side) in enumerate(zip(row.cells, sides, strict=True))
        )
        for row in sheet.rows
    )
    return paragraph_html(heading, _STRONG) + _table(f"<thead>{head}</thead><tbody>{body}</tbody>")


def _look(row: Row, place: int) -> str:
    return "".join(_STYLES.get(word, "") for word in [row.style, *row.styles.get(place, "").split()])


def end_html(answer: str, notes: Iterable[str]) -> str:
    """The answer, then what else there is to know."""
    return paragraph_html(answer, _STRONG) + "".join(paragraph_html(note, "opacity:.7") for note in notes)


def page_html(content: str) -> str:
    """A whole fragment, which scrolls sideways where a notebook is narrow."""
    return f'<div style="overflow-x:auto;color:inherit">{content}</div>'


def _plain_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = _row(_cell("th", column, "left") for column in columns)
    body = "".join(_row(_cell("td", cell, "left") for cell in row) for row in rows)
    return _table(f"<thead>{head}</thead><tbody>{body}</tbody>")


def _table(rows: str) -> str:
    return f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{rows}</table>'


def _row(cells: Iterable[str]) -> str:
    return f'<tr style="border-bottom:{_LINE};background:transparent">{"".join(cells)}</tr>'


def _cell(tag: str, text: str, side: str, more: str = "") -> str:
    return f'<{tag} style="{_CELL};text-align:{side}{more}">{escape(visible(text))}</{tag}>'


def paragraph_html(text: str, style: str) -> str:
    """A text on a line of its own; nothing where it is empty."""
    return f'<p style="margin:.5em 0;{style}">{escape(visible(text))}</p>' if text else ""
