"""Results as HTML fragments for notebooks: no script, no network, readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from onnxperf.records import Bench, Case, Diff, Optimization, Profile, Subject
from onnxperf.render.kit.table import Row, Table
from onnxperf.render.profile.changes import counts_sheet, diff_sheet, group_lines, race_line, sides_sheet
from onnxperf.render.profile.profile import SHORT_LIST, diff_facts, optimization_facts, profile_facts, profile_times
from onnxperf.render.profile.timings import node_sheet, operator_sheet, source_sheet, timeless
from onnxperf.render.race.fields import FIELDS
from onnxperf.render.race.split import HEADING, split_notes, split_sheet
from onnxperf.render.race.sweep import crossover_lines, flat_sheet, flat_title, note_lines, reason_lines, sweep_facts
from onnxperf.render.race.sweep_grid import by_model
from onnxperf.wording.names import dims_text, name_of, visible
from onnxperf.wording.numbers import UNICODE

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
        return page_html(_sweep(bench))
    return page_html("".join(_case(case) for case in bench.cases))


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


def _sweep(bench: Bench) -> str:
    groups = by_model(bench.cases)
    parts = [paragraph_html(" · ".join([", ".join(map(name_of, groups)), *sweep_facts(bench)]), _STRONG)]
    for model, cases in groups.items():
        parts.append(sheet_html(flat_sheet(cases), flat_title(cases, model if len(groups) > 1 else "")))
        parts += [paragraph_html(line, "") for line in reason_lines(cases)]
        parts += [paragraph_html(line, _STRONG) for line in crossover_lines(cases)]
    return "".join([*parts, end_html("", note_lines(bench.cases))])


def _case(case: Case) -> str:
    heading = " · ".join(filter(None, [name_of(case.model), dims_text(case.dims)]))
    head = _row(_cell("th", field.heading, _side(key)) for key, field in FIELDS.items())
    body = "".join(_row(_subject_cells(subject)) for subject in case.subjects)
    reasons = [f"{name_of(s.name)}: {s.reason}" for s in case.subjects if s.reason]
    return "".join(
        [
            paragraph_html(heading, "font-weight:600"),
            _table(f"<thead>{head}</thead><tbody>{body}</tbody>"),
            sheet_html(split_sheet(case), HEADING),
            *(paragraph_html(note, "opacity:.7") for note in split_notes(case)),
            paragraph_html(case.answer, "font-weight:600"),
            *(paragraph_html(note, "opacity:.7") for note in [*case.notes, *reasons]),
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


def paragraph_html(text: str, style: str) -> str:
    """A text on a line of its own; nothing where it is empty."""
    return f'<p style="margin:.5em 0;{style}">{escape(visible(text))}</p>' if text else ""
