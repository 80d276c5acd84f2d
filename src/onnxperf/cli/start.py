"""The start and the end of every command: signals, standard streams, temporary files, exit code."""

from __future__ import annotations

import sys

from onnxperf.cli import exit_codes, surroundings
from onnxperf.cli.head_start import head_start
from onnxperf.cli.scratch import scratch_folder
from onnxperf.programs import leave_current_folder_out


def main() -> None:
    """Run the command that the arguments name, and exit."""
    exit_codes.catch_signals()
    try:
        surroundings.open_standard_streams()
        surroundings.switch_off_telemetry()
        leave_current_folder_out()
        with scratch_folder():
            head_start(sys.argv[1:])
            from onnxperf.cli.main import run  # large: signals must be handled before it is imported

            code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = exit_codes.end_interrupted()
    except Exception as error:
        code = exit_codes.end_interrupted() if exit_codes.received() else _explained(error)
    finally:
        exit_codes.ignore_signals()
        surroundings.show_cursor()
        surroundings.leave_standard_streams()
    sys.exit(code)


def _explained(error: Exception) -> int:
    """Print the traceback for --debug; returns the exit code."""
    from onnxperf.cli.main import code_of

    surroundings.show_traceback(error)
    return code_of(error)
