"""Results as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from onnxperf.records import Bench, Case, Check, Machine, Subject
from onnxperf.render.check import COLUMNS, cells
from onnxperf.render.check import sentence as answer
from onnxperf.render.fields import FIELDS, machine_facts
from onnxperf.render.text import dims_text, name_of, visible
from onnxperf.render.units import UNICODE

# Colours of middle lightness, and lines half transparent: both hold on white and on black.
_VERDICT_COLOURS = {"faster": "#1a9e6b", "slower": "#e0532f", "undecided": "#c98a00"}
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.3em .8em;border:0;white-space:nowrap;background:transparent;color:inherit"
_LEFT = frozenset({"name", "status", "verdict"})


def bench_html(bench: Bench) -> str:
    """Every case with its table, its answer, its notes and the reasons of rows that failed."""
    return _page("".join(_case(case) for case in bench.cases))


def doctor_html(machine: Machine, extra: Sequence[tuple[str, str]], sentence: str) -> str:
    """What is known about a machine, and what that means."""
    facts = [*machine_facts(machine), *extra]
    rows = "".join(_row([_cell("th", name, "left"), _cell("td", text, "left")]) for name, text in facts)
    return _page(f"{_table(rows)}{_paragraph(sentence, 'font-weight:600')}")


def check_html(check: Check) -> str:
    """Every output with its differences, and the answer."""
    head = _row(_cell("th", column, "left") for column in COLUMNS)
    body = "".join(_row(_cell("td", cell, "left") for cell in cells(output)) for output in check.outputs)
    return _page(
        f"{_table(f'<thead>{head}</thead><tbody>{body}</tbody>')}{_paragraph(answer(check), 'font-weight:600')}"
    )


def _page(content: str) -> str:
    return f'<div style="overflow-x:auto;color:inherit">{content}</div>'


def _case(case: Case) -> str:
    heading = " · ".join(filter(None, [name_of(case.model), dims_text(case.dims)]))
    head = _row(_cell("th", field.heading, _side(key)) for key, field in FIELDS.items())
    body = "".join(_row(_subject_cells(subject)) for subject in case.subjects)
    reasons = [f"{name_of(s.name)}: {s.reason}" for s in case.subjects if s.reason]
    return "".join(
        [
            _paragraph(heading, "font-weight:600"),
            _table(f"<thead>{head}</thead><tbody>{body}</tbody>"),
            _paragraph(case.answer, "font-weight:600"),
            *(_paragraph(note, "opacity:.7") for note in [*case.notes, *reasons]),
        ]
    )


def _subject_cells(subject: Subject) -> Iterable[str]:
    for key, field in FIELDS.items():
        colour = _VERDICT_COLOURS.get(subject.verdict or "") if key in {"verdict", "speedup"} else None
        if key == "status" and subject.status != "ok":
            colour = _VERDICT_COLOURS["slower"]
        yield _cell("td", field.text(subject, UNICODE), _side(key), f";color:{colour}" if colour else "")


def _side(key: str) -> str:
    return "left" if key in _LEFT else "right"


def _table(rows: str) -> str:
    return f'<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">{rows}</table>'


def _row(cells: Iterable[str]) -> str:
    return f'<tr style="border-bottom:{_LINE};background:transparent">{"".join(cells)}</tr>'


def _cell(tag: str, text: str, side: str, more: str = "") -> str:
    return f'<{tag} style="{_CELL};text-align:{side}{more}">{escape(visible(text))}</{tag}>'


def _paragraph(text: str, style: str) -> str:
    return f'<p style="margin:.5em 0;{style}">{escape(visible(text))}</p>' if text else ""
