"""The command line: parse, call, and turn every error into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from cyclopts import App, CycloptsError

from onnxperf.cli.bench import bench
from onnxperf.cli.check import check
from onnxperf.cli.convert import convert
from onnxperf.cli.demo import demo
from onnxperf.cli.diff import diff
from onnxperf.cli.doctor import doctor
from onnxperf.cli.einsum import einsum
from onnxperf.cli.memory import memory
from onnxperf.cli.optimize import optimize
from onnxperf.cli.output import BAD_INPUT, INTERRUPTED, PARTIAL
from onnxperf.cli.profile import profile
from onnxperf.cli.runs import runs
from onnxperf.cli.stack import stack
from onnxperf.cli.sweep import sweep
from onnxperf.cli.view import view
from onnxperf.errors import OnnxperfError
from onnxperf.wording.names import visible

app = App(
    name="onnxperf",
    help="How fast an ONNX model runs, where its time and memory go, and what would make it faster.",
    version=lambda: version("onnxperf"),
)
# Their modules are light: what they call is imported when they run.
for _command in (
    *(bench, check, convert, demo, diff, doctor, einsum, memory, optimize, profile, runs),
    *(stack, sweep, view),
):
    app.command(_command)


def main() -> None:
    """Run the command that the arguments name, and exit."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command; returns its exit code: 2 for bad input, 1 for a partial result, 130 after Ctrl-C."""
    debug = "--debug" in arguments
    try:
        code = app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read our output has seen enough
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OnnxperfError, CycloptsError) as error:
        if debug:
            raise
        return _complain(error, BAD_INPUT)
    except Exception as error:
        if debug:
            raise
        message = f"unexpected {type(error).__name__}: {error} (--debug shows where; please report it)"
        return _complain(message, PARTIAL)


def _complain(message: object, code: int) -> int:
    # Names of a model are in it, which must not steer the terminal.
    print(f"onnxperf: {visible(' '.join(str(message).split()))}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
