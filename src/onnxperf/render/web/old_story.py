"""What every story tells, whatever was measured: the answer, what limits it, where and how to measure it again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from onnxperf.options.spelling import as_flags
from onnxperf.records.base import Machine
from onnxperf.render.kit.machine import machine_facts
from onnxperf.render.kit.old_table import Table
from onnxperf.render.kit.page import INTERRUPTED, Page
from onnxperf.render.web.old_base import LinkedTable, Part, Section, without_story
from onnxperf.render.web.story import Story

_ENGINES = ("onnxperf", "onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "openvino", "numpy", "torch")
"""What decides how fast a model is: the versions to install for the same measurement."""


class Claim(NamedTuple):
    """What a result says."""

    kind: str
    """The command."""
    topic: str
    answers: Sequence[str]
    limits: Sequence[str]
    """What limits the answer."""
    interrupted: bool = False


def story_of(record: Struct, claim: Claim, sections: Sequence[Section], page: Page) -> Story:
    """A record as a story: its sections, then the page that the command line prints."""
    machine: Machine | None = getattr(record, "machine", None)
    command: str = getattr(record, "command", "")
    warnings = [*([INTERRUPTED.text] if claim.interrupted else []), *claim.limits]
    notes = [note for note in _notes(record) if note not in warnings]
    details = [
        part for part in without_story(page, [*claim.answers, *warnings, *notes]) if not _is_told(part, sections)
    ]
    story = Story(
        kind=claim.kind,
        topic=claim.topic,
        answers=claim.answers,
        warnings=warnings,
        notes=notes,
        sections=[*sections, Section("Details", details)],
        machine=machine_facts(machine) if machine is not None else (),
        command=command,
        snippet=_snippet(command, machine),
    )
    return _in_flags(story) if command.startswith("onnxperf ") else story


def _is_told(part: Part, sections: Sequence[Section]) -> bool:
    """Whether a section shows this table already."""
    told = [each.table for section in sections for each in section.parts if isinstance(each, LinkedTable)]
    return isinstance(part, Table) and bool(part.title) and part.title in [table.title for table in told]


def _notes(record: Struct) -> list[str]:
    parts = [record, *getattr(record, "cases", ())]
    return list(dict.fromkeys(note for part in parts for note in getattr(part, "notes", ())))


def _snippet(command: str, machine: Machine | None) -> str:
    """The command, after the versions that were installed."""
    if machine is None or not command.startswith("onnxperf "):
        return ""
    pins = [f"{name}=={machine.versions[name]}" for name in _ENGINES if name in machine.versions]
    return "\n".join([f"pip install {' '.join(pins)}", command])


def _in_flags(story: Story) -> Story:
    """The same with options as they are typed."""
    return story._replace(
        answers=[as_flags(text) for text in story.answers],
        warnings=[as_flags(text) for text in story.warnings],
        notes=[as_flags(text) for text in story.notes],
    )
