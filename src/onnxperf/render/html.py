"""Results as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from onnxperf.records import Bench, Case, Check, Diff, EinsumPlan, Machine, Optimization, Profile, Rewrite, Subject
from onnxperf.render.changes import counts_sheet, diff_sheet, group_lines, race_line, sides_sheet
from onnxperf.render.check import COLUMNS, cells
from onnxperf.render.check import sentence as answer
from onnxperf.render.columns import Row, Sheet
from onnxperf.render.einsum import (
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
from onnxperf.render.fields import FIELDS, machine_facts
from onnxperf.render.profile import SHORT_LIST, diff_facts, optimization_facts, profile_facts, profile_times
from onnxperf.render.sweep import crossover_lines, flat_sheet, flat_title, note_lines, reason_lines, sweep_facts
from onnxperf.render.sweep_grid import by_model
from onnxperf.render.text import dims_text, name_of, visible
from onnxperf.render.timings import node_sheet, operator_sheet, source_sheet, timeless
from onnxperf.render.units import UNICODE

# Colours of middle lightness, and lines half transparent: both hold on white and on black.
_VERDICT_COLOURS = {"faster": "#1a9e6b", "slower": "#e0532f", "undecided": "#c98a00"}
_LINE = "1px solid rgba(128,128,128,.35)"
_CELL = "padding:.3em .8em;border:0;white-space:nowrap;background:transparent;color:inherit"
_LEFT = frozenset({"name", "status", "verdict"})
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


def bench_html(bench: Bench) -> str:
    """A case with its table, its answer, its notes and the reasons of rows that failed; of many, a row per case."""
    if len(bench.cases) > 1:
        return _page(_sweep(bench))
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


def profile_html(profile: Profile, top: int = 10) -> str:
    """Time per operator, the most costly nodes and the groups of the original model, the answer and the notes."""
    sources = source_sheet(profile, UNICODE, top)
    without_time = timeless(source.group for source in profile.sources)
    return _page(
        "".join(
            [
                _paragraph(" · ".join([name_of(profile.model), *profile_facts(profile)]), _STRONG),
                _paragraph(" · ".join(profile_times(profile, UNICODE)), ""),
                _sheet(operator_sheet(profile, UNICODE), "Time per iteration"),
                _sheet(node_sheet(profile, UNICODE, top), "The most costly nodes"),
                "" if sources is None else _sheet(sources, "In the original model"),
                *(_paragraph(line, "") for line in without_time),
                _end(profile.answer, profile.notes),
            ]
        )
    )


def diff_html(diff: Diff, min_share: float = 0.01) -> str:
    """Both sides, what the race says, the nodes side by side, the answer and the notes."""
    heading = f"{name_of(diff.base.model)} against {name_of(diff.opti.model)}"
    told = race_line(diff.race, UNICODE) if diff.race is not None else ""
    return _page(
        "".join(
            [
                _paragraph(" · ".join([heading, *diff_facts(diff)]), _STRONG),
                _sheet(sides_sheet(diff, UNICODE)),
                _paragraph(told, ""),
                _sheet(diff_sheet(diff, UNICODE, min_share)),
                _end(diff.answer, diff.notes),
            ]
        )
    )


def optimization_html(record: Optimization) -> str:
    """Operators before and after, what became of the nodes, and the file."""
    parts = [
        _paragraph(" · ".join([name_of(record.model), *optimization_facts(record)]), _STRONG),
        _sheet(counts_sheet(record, UNICODE)),
    ]
    for heading, lines in group_lines(record, SHORT_LIST):
        parts += [_paragraph(heading, _STRONG), *(_paragraph(line, "margin-left:1em") for line in lines)]
    written = f"Written to {record.output}." if record.output else ""
    return _page("".join([*parts, _end(written, record.notes)]))


def einsum_html(plan: EinsumPlan) -> str:
    """What was searched, the winner, the final race, the answer and the notes."""
    return _page(
        "".join(
            [
                _paragraph(" · ".join([name_of(plan.equation), *plan_facts(plan)]), _STRONG),
                _paragraph(search_text(plan), ""),
                _paragraph(" · ".join(winner_texts(plan)), ""),
                _sheet(race_sheet(plan)),
                _end(plan.answer, plan_notes(plan)),
            ]
        )
    )


def rewrite_html(rewrite: Rewrite) -> str:
    """What became of the Einsum nodes and why, the race of the whole models, the answer and the notes."""
    return _page(
        "".join(
            [
                _paragraph(" · ".join([name_of(rewrite.model), *machine_texts(rewrite.machine)]), _STRONG),
                _sheet(sites_sheet(rewrite)),
                _paragraph(whole_race_text(rewrite.race), ""),
                _paragraph(written_text(rewrite), ""),
                _end(rewrite.answer, rewrite.notes),
            ]
        )
    )


def _sheet(sheet: Sheet, heading: str = "") -> str:
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
    return _paragraph(heading, _STRONG) + _table(f"<thead>{head}</thead><tbody>{body}</tbody>")


def _look(row: Row, place: int) -> str:
    return "".join(_STYLES.get(word, "") for word in [row.style, *row.styles.get(place, "").split()])


def _end(answer: str, notes: Iterable[str]) -> str:
    return _paragraph(answer, _STRONG) + "".join(_paragraph(note, "opacity:.7") for note in notes)


def _page(content: str) -> str:
    return f'<div style="overflow-x:auto;color:inherit">{content}</div>'


def _sweep(bench: Bench) -> str:
    groups = by_model(bench.cases)
    parts = [_paragraph(" · ".join([", ".join(map(name_of, groups)), *sweep_facts(bench)]), _STRONG)]
    for model, cases in groups.items():
        parts.append(_sheet(flat_sheet(cases), flat_title(cases, model if len(groups) > 1 else "")))
        parts += [_paragraph(line, "") for line in reason_lines(cases)]
        parts += [_paragraph(line, _STRONG) for line in crossover_lines(cases)]
    return "".join([*parts, _end("", note_lines(bench.cases))])


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
