"""The command line: parse, call, and turn every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from onnxperf.cli.exit_codes import BAD_INPUT, NO_ANSWER, PARTIAL, catch_signals, interrupted
from onnxperf.cli.present import complain
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
_COMMANDS = {*_FUNCTIONS, "runs"}
"""Each is in a module of its name, which is imported when the command is used."""
for _command in _FUNCTIONS:
    app.command(f"onnxperf.cli.{_command}:{_command}", help_format="markdown")
app.command("onnxperf.cli.runs:runs")


def main() -> None:
    """Run the command that the arguments name, and exit."""
    catch_signals()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code (`exit_codes`)."""
    debug = "--debug" in arguments
    if not _COMMANDS.intersection(arguments):
        for name in _COMMANDS:
            _ = app[name]  # imported, because --help shows the first sentence of each
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output has seen enough
        return 0
    except KeyboardInterrupt:
        return interrupted()
    except (OnnxperfError, CycloptsError) as error:
        if debug:
            raise
        complain(error)
        return NO_ANSWER if isinstance(error, FileNotWritten) else BAD_INPUT
    except Exception as error:
        if debug:
            raise
        complain(f"unexpected {type(error).__name__}: {error} (--debug shows where; please report it)")
        return PARTIAL


if __name__ == "__main__":
    main()
