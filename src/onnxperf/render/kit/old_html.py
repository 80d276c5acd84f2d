"""Results as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from onnxperf.records import Check, EinsumPlan, Machine, Rewrite
from onnxperf.records.convert import Conversion
from onnxperf.render.kit.machine import machine_facts
from onnxperf.render.kit.table import Row, Table
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
