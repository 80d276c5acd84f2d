"""The command line: parse, call, and turn every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from onnxperf.cli.bench import bench
from onnxperf.cli.check import check
from onnxperf.cli.convert import convert
from onnxperf.cli.demo import demo
from onnxperf.cli.diff import diff
from onnxperf.cli.doctor import doctor
from onnxperf.cli.einsum import einsum
from onnxperf.cli.exit_codes import BAD_INPUT, NO_ANSWER, PARTIAL, catch_signals, interrupted
from onnxperf.cli.memory import memory
from onnxperf.cli.optimize import optimize
from onnxperf.cli.present import complain
from onnxperf.cli.profile import profile
from onnxperf.cli.runs import runs
from onnxperf.cli.stack import stack
from onnxperf.cli.sweep import sweep
from onnxperf.cli.view import view
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
# Their modules are light: what they call is imported when they run.
for _command in (bench, check, convert, demo, diff, doctor, einsum, memory, optimize, profile, stack, sweep, view):
    app.command(_command, help_format="markdown")
runs.help_format = "markdown"
app.command(runs)


def main() -> None:
    """Run the command that the arguments name, and exit."""
    catch_signals()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code (`exit_codes`)."""
    debug = "--debug" in arguments
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
