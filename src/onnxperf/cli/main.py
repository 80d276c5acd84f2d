"""The command line: parse, call, and turn errors into one line and an exit code."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from onnxperf.caller import Caller, called_by
from onnxperf.cli import exit_codes
from onnxperf.cli.help import CommandLine
from onnxperf.cli.overview import COMMANDS
from onnxperf.cli.present import abandon_stdout, print_notice
from onnxperf.cli.surroundings import shortage
from onnxperf.errors import FileNotWritten, LimitExceeded, OnnxperfError, SubjectError, masked


def _versions() -> str:
    from onnxperf.cli.versions import versions

    return versions()


app = CommandLine(
    name="onnxperf",
    help="Measure ONNX models, and find out what makes them faster.",
    version=_versions,
    version_flags=["--version", "-V"],
    suppress_keyboard_interrupt=False,  # or SIGTERM and SIGHUP would exit as SIGINT does
    help_format="plaintext",
)
for _command in COMMANDS:  # imported when they are used
    app.command(f"onnxperf.cli.commands.{_command}:{_command}")
app.command("onnxperf.cli.help:help_", name="help")
app.command("onnxperf.cli.completion:install_completion", name="--install-completion")


def main() -> None:
    """Run the command of these arguments, and exit."""
    from onnxperf.cli.start import main as start

    start()


def import_commands() -> None:
    """Import every command, for completion."""
    for name in app:
        _ = app[name]


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code (`exit_codes`)."""
    debug = "--debug" in arguments
    try:
        *words, last = arguments or ["--help"]
        if last in app.help_flags and not app.parse_commands(words)[2]:
            arguments = ["help", "--", *words]  # cyclopts would first look at every option of the command
        with called_by(Caller(typed(arguments), exit_codes.finishing)):
            code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else exit_codes.DONE
    except BrokenPipeError:
        abandon_stdout()
        return exit_codes.BROKEN_PIPE
    except KeyboardInterrupt:
        return exit_codes.end_interrupted()
    except Exception as error:
        if exit_codes.received():  # a library turned it into another error
            return exit_codes.end_interrupted()
        if debug:
            raise
        error = shortage(error) or error
        print_notice(_line(error, arguments))
        return code_of(error)


def typed(arguments: Sequence[str]) -> str:
    """The typed command, for the record, with passwords masked."""
    return shlex.join(["onnxperf", *map(masked, arguments)])


def _line(error: Exception, arguments: Sequence[str]) -> object:
    """The line that the user sees."""
    if isinstance(error, CycloptsError):
        from onnxperf.cli.suggestions import explained

        return explained(app, error, arguments)
    if isinstance(error, OnnxperfError):
        return error
    return f"unexpected {type(error).__name__}: {error} (please report it; --debug shows the traceback)"


def code_of(error: Exception) -> int:
    """The exit code of an error."""
    if isinstance(error, FileNotWritten):
        return exit_codes.NO_ANSWER
    if isinstance(error, LimitExceeded) or (isinstance(error, SubjectError) and error.status in ("timeout", "oom")):
        return exit_codes.PARTIAL
    return exit_codes.BAD_INPUT if isinstance(error, OnnxperfError | CycloptsError) else exit_codes.INTERNAL


if __name__ == "__main__":
    main()
