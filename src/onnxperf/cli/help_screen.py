"""The layout of help: a sentence, usage, examples, common options, all others by group, notes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cyclopts import App
from rich.console import Console
from rich.text import Text

from onnxperf.cli.command import PANELS, metavar_of, purpose
from onnxperf.cli.help import label
from onnxperf.cli.overview import COMMANDS, QUESTIONS
from onnxperf.options.base import Option
from onnxperf.options.spelling import plain_flags

_HEADING, _NAME, _ASIDE = "bold", "cyan", "dim"
"""Readable on dark and on light backgrounds."""
_INDENT, _GAP = 2, 2
_WIDEST = 100
"""Longer lines are hard to read."""
_SIDE_BY_SIDE = 80
"""Screens at least this wide show each question next to its commands."""
_LONGEST_NAMES = ((80, 22), (50, 18))
"""Widths of screens, with the maximum length of a name that has its text on the same line."""
_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_ARGUMENT = re.compile(r"^(\w+)\n((?: {4}.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class _Documented:
    """The parts of a docstring."""

    sentence: str
    details: tuple[str, ...]
    examples: str
    arguments: dict[str, str]


class HelpConsole(Console):
    """A terminal or a pipe; `PageConsole` would import much more."""

    def on_broken_pipe(self) -> None:
        """Rich would end the process with another exit code."""
        raise BrokenPipeError


def overview(console: Console, docs: str) -> Iterator[Text]:
    """The first screen: commands by question, which stand on the left if there is room."""
    yield Text("Measure ONNX models, and find out what makes them faster.")
    yield Text()
    yield _titled("Usage:", "onnxperf COMMAND [OPTIONS]")
    yield _titled("Start here:", "onnxperf demo")
    if console.width < _SIDE_BY_SIDE:
        yield Text()
    width = max(map(len, QUESTIONS)) + _GAP
    for question, commands in QUESTIONS.items():
        lines = list(_listed(commands))
        if console.width >= _SIDE_BY_SIDE:
            yield Text()
            yield Text.assemble((question.ljust(width), _HEADING), lines.pop(0))
            yield from (Text(" " * width) + each for each in lines)
        else:
            yield Text(question, _HEADING)
            yield from (Text(" " * _INDENT) + each for each in lines)
    yield Text()
    yield _titled("Examples and options:", "onnxperf COMMAND --help")
    yield _titled("Also:", "onnxperf --version, onnxperf --install-completion")
    if docs:
        yield _titled("Documentation:", docs)


def _listed(commands: Mapping[str, str]) -> Iterator[Text]:
    longest = max(map(len, COMMANDS))
    for name, phrase in commands.items():
        yield Text.assemble((name.ljust(longest + _GAP), _NAME), phrase)


def command_screen(console: Console, command: App, usage: str, docs: str) -> Iterator[Text]:
    """All about a command: what it does, usage, examples, arguments, options, notes."""
    width = min(console.width, _WIDEST)
    function: Any = command.default_command
    said = _documented(inspect.getdoc(function) or "")
    yield from _paragraph(said.sentence, console, width)
    yield Text()
    yield _titled("Usage:", usage)
    if said.examples:
        yield from _headed("Examples")
        for line in said.examples.splitlines():
            yield Text(" " * _INDENT + line, _ASIDE if line.startswith("#") else "")
    rows = [(Text(name, _NAME), Text(text)) for name, text in said.arguments.items()]
    sections = [("Arguments", rows), ("Commands", list(_subcommands(command))), *_grouped(function)]
    column = _column([name for _, lines in sections for name, _ in lines], width)
    for title, lines in sections:
        if lines:
            yield from _headed(title)
            yield from _rows(lines, column, console, width)
    for number, each in enumerate(said.details):
        yield from _headed("Notes") if number == 0 else (Text(),)
        yield from (Text(" " * _INDENT) + line for line in _paragraph(each, console, width - _INDENT))
    if docs:
        yield Text()
        yield _titled("Documentation:", docs)


def _documented(text: str) -> _Documented:
    head, *parts = _SECTION.split(text)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    sentence, *details = (" ".join(each.split()) for each in re.split(r"\n\s*\n", head.strip()))
    arguments = {
        label(found[1]): " ".join(found[2].split()) for found in _ARGUMENT.finditer(sections.get("Parameters", ""))
    }
    return _Documented(sentence, tuple(details), sections.get("Examples", "").strip(), arguments)


def _subcommands(command: App) -> Iterator[tuple[Text, Text]]:
    for name in command:
        if not name.startswith("-"):
            said = _documented(inspect.getdoc(command[name].default_command) or "")
            yield Text(name, _NAME), Text(said.sentence)


def _grouped(function: Any) -> list[tuple[str, list[tuple[Text, Text]]]]:
    """Common options, then the others by group, in the order of `PANELS`."""
    options: list[Option] = [*getattr(function, "takes", ()), *getattr(function, "extra", ())]
    known = {each.name: each for each in options}
    common = [known[name] for name in getattr(function, "common", ())]
    groups: dict[str, list[Option]] = {"Common options": common} if common else {}
    others = [each for each in options if each not in common]
    for each in sorted(others, key=lambda each: PANELS.index(each.group) + 1 if each.group in PANELS else 0):
        groups.setdefault(each.group, []).append(each)
    races = bool(getattr(function, "takes", None) and function.takes.races)
    return [(title, [_described(each, races) for each in several]) for title, several in groups.items()]


def _described(option: Option, races: bool) -> tuple[Text, Text]:
    value = f" {metavar_of(option)}" if option.switch is None else ""
    flags = Text.assemble((", ".join(filter(None, [option.short, option.flag])), _NAME), value)
    text = Text(plain_flags(purpose(option, races)))
    if option.shown_default:
        text.append(f" [default: {option.shown_default}]", _ASIDE)
    return flags, text


def _titled(title: str, text: str) -> Text:
    return Text.assemble((title, _HEADING), f" {text}")


def _headed(title: str) -> Iterator[Text]:
    yield Text()
    yield Text(f"{title}:", _HEADING)


def _paragraph(text: str, console: Console, width: int) -> Iterable[Text]:
    return Text(plain_flags(text)).wrap(console, width)


def _column(names: Sequence[Text], width: int) -> int:
    """The column in which all texts begin."""
    most = next((longest for least, longest in _LONGEST_NAMES if width >= least), 0)
    return _INDENT + _GAP + max((len(name) for name in names if len(name) <= most), default=0)


def _rows(rows: Sequence[tuple[Text, Text]], column: int, console: Console, width: int) -> Iterator[Text]:
    """Names on the left, texts on the right; the text of a long name begins on the next line."""
    for name, text in rows:
        left = Text(" " * _INDENT) + name
        lines = list(text.wrap(console, width - column))
        if len(left) + _GAP > column:
            yield left
        else:
            left.pad_right(column - len(left))
            yield left + lines.pop(0)
        for line in lines:
            yield Text(" " * column) + line
