"""What subjects need in memory, as an HTML fragment for notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records import Memory
from onnxperf.render.kit.html import end_html, page_html, paragraph_html, sheet_html
from onnxperf.render.memory.memory import INTERRUPTED, memory_facts, memory_notes, memory_parts
from onnxperf.wording.names import name_of

_STRONG, _DIM = "font-weight:600", "opacity:.7"


def memory_html(record: Memory) -> str:
    """Every case with its tables, its answer and its notes."""
    return page_html("".join(_pieces(record)))


def _pieces(record: Memory) -> Iterator[str]:
    for case in record.cases:
        facts = filter(None, memory_facts(case, record))
        yield paragraph_html(" · ".join([name_of(case.model), *facts]), _STRONG)
        for part in memory_parts(case, record):
            yield sheet_html(part.sheet, part.heading)
            yield from (paragraph_html(line, _DIM) for line in part.below)
        yield paragraph_html(INTERRUPTED if case.interrupted else "", _STRONG)
        yield end_html(case.answer, memory_notes(case))
