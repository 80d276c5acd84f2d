"""What subjects need in memory, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from onnxperf.records import Memory, MemoryCase
from onnxperf.render.kit.export import markdown_sheet, markdown_text
from onnxperf.render.memory.memory import INTERRUPTED, memory_facts, memory_notes, memory_parts
from onnxperf.wording.names import name_of


def memory_markdown(record: Memory) -> str:
    """Every case with its tables for GitHub, its answer and its notes."""
    return "\n".join("\n".join(_lines(case, record)) for case in record.cases)


def _lines(case: MemoryCase, record: Memory) -> Iterator[str]:
    facts = filter(None, memory_facts(case, record))
    yield f"**{' · '.join(map(markdown_text, [name_of(case.model), *facts]))}**\n"
    for part in memory_parts(case, record):
        yield f"{markdown_text(part.heading)}\n"
        yield from markdown_sheet(part.sheet)
        yield ""
        yield from (f"{markdown_text(line)}\n" for line in part.below)
    sentences = filter(None, [INTERRUPTED if case.interrupted else "", case.answer, *memory_notes(case)])
    yield from (f"{markdown_text(sentence)}\n" for sentence in sentences)
