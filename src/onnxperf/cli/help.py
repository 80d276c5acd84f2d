"""`onnxperf help`, how a command is called, and where its documentation is."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import App, UnknownCommandError

from onnxperf.cli import exit_codes

_PACKAGE = Path(__file__).resolve().parents[1]
_DOCS = (
    _PACKAGE.parents[1] / "docs",
    *(folder / "share" / "doc" / "onnxperf" for folder in _PACKAGE.parents[1:4]),
)
"""Possible folders of the documentation: in the checkout, or in the environment of an installed wheel."""
_OVERVIEW = "command-line.md"


def help_(*commands: str) -> int:
    """Show all commands, or the examples and options of one.

    Examples
    --------
    # Show examples and options of bench
    onnxperf help bench
    # Show a subcommand
    onnxperf help runs show

    Parameters
    ----------
    commands
        The command, followed by a subcommand if it has any.
    """
    from onnxperf.cli.main import app

    chain, apps, unused = app.parse_commands(commands)
    if unused:
        raise UnknownCommandError(unused_tokens=unused, command_chain=chain, app=apps[-1])
    app.help_print(commands)
    return exit_codes.DONE


class CommandLine(App):
    """An application whose help begins with what most people look for."""

    def help_print(  # cyclopts evaluates these types
        self,
        tokens: Annotated[str | Iterable[str] | None, cyclopts.Parameter(show=False)] = None,
        *,
        console: Annotated[Any, cyclopts.Parameter(parse=False)] = None,  # noqa: ARG002
    ) -> None:
        """Print the help of the command that the tokens name."""
        from onnxperf.cli.help_screen import HelpConsole, command_screen, overview

        chain, apps, _ = self.parse_commands(tokens)
        screen = HelpConsole(highlight=False)
        docs = docs_page(chain)
        lines = command_screen(screen, apps[-1], usage(chain, apps[-1]), docs) if chain else overview(screen, docs)
        for line in lines:
            line.rstrip()
            screen.print(line, soft_wrap=True)


def usage(chain: Sequence[str], command: App) -> str:
    """The usage of a command, with the names of its arguments."""
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
    """The name of an argument in help texts; plurals can be repeated."""
    return f"{name[:-1]}...".upper() if name.lower().endswith("s") else name.upper()


def docs_page(chain: Sequence[str] = ()) -> str:
    """The file that documents a command; empty if the documentation is not installed."""
    folder = next((each for each in _DOCS if (each / _OVERVIEW).is_file()), None)
    if folder is None:
        return ""
    page = folder / f"{chain[0]}.md" if chain else folder / _OVERVIEW
    return str(page if page.is_file() else folder / _OVERVIEW)
