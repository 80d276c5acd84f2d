"""`onnxperf help`, and how every help text is laid out."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import cyclopts
from cyclopts import App, UnknownCommandError

from onnxperf.cli import exit_codes

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

_PACKAGE = Path(__file__).resolve().parents[1]
_DOCS = (
    _PACKAGE.parents[1] / "docs",
    *(folder / "share" / "doc" / "onnxperf" for folder in _PACKAGE.parents[1:4]),
)
"""Where the documentation may be: in the checkout, or in the environment that a wheel was installed into."""
_OVERVIEW = "command-line.md"
_EXAMPLE = re.compile(r" {4,}\S")


def help_(*commands: str) -> int:
    """Show the options of a command.

    For example:

        onnxperf help bench

        onnxperf help runs show

    Parameters
    ----------
    commands
        The command, followed by a subcommand if it has any.
    """
    from onnxperf.cli.main import app, import_commands

    if not commands:
        import_commands()
    chain, apps, unused = app.parse_commands(commands)
    if unused:
        raise UnknownCommandError(unused_tokens=unused, command_chain=chain, app=apps[-1])
    app.help_print(commands)
    return exit_codes.DONE


class CommandLine(App):
    """An application whose help names the arguments of each command and ends with the place of its documentation."""

    def help_print(  # cyclopts evaluates these types
        self,
        tokens: Annotated[str | Iterable[str] | None, cyclopts.Parameter(show=False)] = None,
        *,
        console: Annotated[Any, cyclopts.Parameter(parse=False)] = None,
    ) -> None:
        """Print the help of the command that the tokens name."""
        chain, apps, _ = self.parse_commands(tokens)
        apps[-1].usage = usage(chain, apps[-1])
        super().help_print(tokens, console=console)
        page = docs_page(chain)
        if page:
            apps[-1].console.print(f"Documentation: {page}", markup=False, highlight=False, soft_wrap=True)


def usage(chain: Sequence[str], command: App) -> str:
    """How a command is called, with the names of its arguments."""
    words = ["onnxperf", *chain]
    if any(not name.startswith("-") for name in command):
        words.append("[COMMAND]" if command.default_command else "COMMAND")
    function = command.default_command
    parameters = [] if function is None else list(inspect.signature(function).parameters.values())
    if function is None or any(each.kind is Parameter.KEYWORD_ONLY for each in parameters):
        words.append("[OPTIONS]")
    return " ".join([*words, *_arguments(parameters)])


def _arguments(parameters: Iterable[Parameter]) -> Iterator[str]:
    for each in parameters:
        if each.kind is Parameter.VAR_POSITIONAL:
            yield label(each.name)
        elif each.kind is Parameter.POSITIONAL_ONLY:
            yield label(each.name) if each.default is Parameter.empty else f"[{label(each.name)}]"


def label(name: str) -> str:
    """How an argument is called in a help text: a plural is given several times."""
    return f"{name[:-1]}...".upper() if name.lower().endswith("s") else name.upper()


def docs_page(chain: Sequence[str] = ()) -> str:
    """The file that documents a command; empty where the documentation is not installed."""
    folder = next((each for each in _DOCS if (each / _OVERVIEW).is_file()), None)
    if folder is None:
        return ""
    page = folder / f"{chain[0]}.md" if chain else folder / _OVERVIEW
    return str(page if page.is_file() else folder / _OVERVIEW)


class PlainHelp:
    """Lays out help without a parser of Markdown, whose import would take longer than all else.

    Paragraphs and descriptions fill the width; examples stay as they are, so that they can be copied.
    """

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a panel of commands or of options."""
        from cyclopts.help.formatters import DefaultFormatter

        DefaultFormatter()(console, options, panel.copy(entries=[_filled(entry) for entry in panel.entries]))

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print the line that names the arguments."""
        from cyclopts.help.formatters import DefaultFormatter

        DefaultFormatter().render_usage(console, options, usage)

    def render_description(self, console: Console, _options: ConsoleOptions, description: Any) -> None:
        """Print what a command does, with its examples."""
        for block in _blocks(_plain(description)):
            console.print(block, markup=False, highlight=False, soft_wrap=bool(_EXAMPLE.match(block)))
            console.print()


def _filled(entry: HelpEntry) -> HelpEntry:
    from attrs import evolve
    from cyclopts.help import InlineText
    from rich.text import Text

    shown = InlineText(Text(" ".join(_plain(entry.description).split())))
    name = entry.positional_label
    return evolve(entry, description=shown, positional_label=None if name is None else label(name))


def _plain(text: Any) -> str:
    """The text of a description; nothing where there is none."""
    return str(getattr(text, "primary_renderable", ""))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs as one line each, and neighbouring examples as one block."""
    examples: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip("\n")):
        if _EXAMPLE.match(part):
            examples.append(part.rstrip())
            continue
        if examples:
            yield "\n".join(examples)
            examples = []
        yield " ".join(part.split())
    if examples:
        yield "\n".join(examples)
