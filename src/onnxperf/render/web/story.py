"""A result as an HTML page shows it: answer, warnings, sections, conditions, and how to repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct

from onnxperf.options.spelling import as_flags, as_keywords
from onnxperf.records.base import Machine
from onnxperf.render.kit.machine import machine_facts
from onnxperf.render.kit.page import Answer, Foot, Heading, Note, Page, Section, Warn, sections_of

_ENGINES = ("onnxperf", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "openvino", "numpy", "torch")
"""What decides how fast a model is: the versions to install for the same measurement."""


class Story(NamedTuple):
    """One result, from its answer to its details."""

    kind: str
    """The command."""
    topic: str
    """The subject of the page."""
    answers: Sequence[Answer]
    """The question answered, in plain sentences."""
    warnings: Sequence[str]
    """What limits the answer."""
    notes: Sequence[str]
    sections: Sequence[Any]
    facts: Sequence[str] = ()
    """Sizes, threads, processor, versions."""
    machine: Sequence[tuple[str, str]] = ()
    """Names and values."""
    command: str = ""
    snippet: str = ""
    """How to measure it again."""

    @property
    def summary(self) -> list[tuple[str, str]]:
        """The same without its parts, for the first sheet of a workbook."""
        answers = [each.shown for each in self.answers]
        said = {"answer": answers, "warning": self.warnings, "facts": self.facts, "note": self.notes}
        texts = [(name, text) for name, several in said.items() for text in several]
        command = [("command", self.command)] if self.command else []
        return [("what", f"{self.kind} {self.topic}".strip()), *texts, *self.machine, *command]


def story_of(record: Struct, kind: str, topic: str, limits: Sequence[str], page: Page) -> Story:
    """The HTML form of a page, with the conditions of the measurement."""
    machine: Machine | None = getattr(record, "machine", None)
    command: str = getattr(record, "command", "")
    spell = partial(spelled, record)
    warnings = list(dict.fromkeys([*(part.text for part in page if isinstance(part, Warn)), *limits]))
    notes = [part.text for part in page if isinstance(part, Note) and part.text not in warnings]
    sections: list[Section] = sections_of(page)
    return Story(
        kind=kind,
        topic=topic,
        answers=[part._replace(text=spell(part.text)) for part in page if isinstance(part, Answer)],
        warnings=[spell(text) for text in warnings],
        notes=[spell(text) for text in dict.fromkeys(notes)],
        sections=sections,
        facts=_facts(page),
        machine=machine_facts(machine) if machine is not None else (),
        command=command,
        snippet=_snippet(command, machine),
    )


def _facts(page: Page) -> list[str]:
    facts = [fact for part in page if isinstance(part, Heading) for fact in part.facts]
    facts += [fact for part in page if isinstance(part, Foot) for fact in part.parts]
    return list(dict.fromkeys(filter(None, facts)))


def spelled(record: Struct, text: str) -> str:
    """The text with options as they are typed: on the command line, or in Python if that measured this."""
    return as_flags(text) if getattr(record, "command", "").startswith("onnxperf ") else as_keywords(text)


def _snippet(command: str, machine: Machine | None) -> str:
    """The command, after a line that installs the same versions."""
    if machine is None or not command.startswith("onnxperf "):
        return ""
    pins = [f"{name}=={machine.versions[name]}" for name in _ENGINES if name in machine.versions]
    return "\n".join([f"pip install {' '.join(pins)}", command])
