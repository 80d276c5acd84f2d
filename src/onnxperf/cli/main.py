"""The command line: parse, call, and turn every error into one line and an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from onnxperf.cli import exit_codes
from onnxperf.cli.present import abandon_stdout, complain
from onnxperf.errors import FileNotWritten, OnnxperfError


def _version() -> str:
    from importlib.metadata import version

    return version("onnxperf")


app = App(
    name="onnxperf",
    help="How fast an ONNX model runs, where its time and memory go, and what would make it faster.",
    version=_version,
    suppress_keyboard_interrupt=False,  # or SIGTERM and SIGHUP would exit as SIGINT does
    help_format="plaintext",  # importing a parser of Markdown would cost --help about 50 ms
)
_FUNCTIONS = [
    "bench",
    "bisect",
    "check",
    "convert",
    "demo",
    "diff",
    "doctor",
    "einsum",
    "memory",
    "optimize",
    "profile",
    "stack",
    "sweep",
    "view",
]
_COMMANDS = {*_FUNCTIONS, "envs", "runs"}
"""Each is in a module of its name, which is imported when the command is used."""
for _command in _FUNCTIONS:
    app.command(f"onnxperf.cli.{_command}:{_command}", help_format="markdown")
app.command("onnxperf.cli.envs:envs")
app.command("onnxperf.cli.runs:runs")


def main() -> None:
    """Run the command that the arguments name, and exit."""
    from onnxperf.cli.start import main as start

    start()


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code (`exit_codes`)."""
    debug = "--debug" in arguments
    if not _COMMANDS.intersection(arguments):
        for name in _COMMANDS:
            _ = app[name]  # imported, because --help shows the first sentence of each
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else exit_codes.DONE
    except BrokenPipeError:
        abandon_stdout()
        return exit_codes.BROKEN_PIPE
    except KeyboardInterrupt:
        return exit_codes.end_interrupted()
    except Exception as error:
        if exit_codes.received():  # a library made another error of it
            return exit_codes.end_interrupted()
        if debug:
            raise
        expected = isinstance(error, OnnxperfError | CycloptsError)
        bug = f"unexpected {type(error).__name__}: {error} (--debug shows where; please report it)"
        complain(error if expected else bug)
        return code_of(error)


def code_of(error: Exception) -> int:
    """The exit code that an error becomes."""
    if isinstance(error, FileNotWritten):
        return exit_codes.NO_ANSWER
    return exit_codes.BAD_INPUT if isinstance(error, OnnxperfError | CycloptsError) else exit_codes.PARTIAL


if __name__ == "__main__":
    main()
