"""`python -m onnxperf` and the script `onnxperf`: signal handlers are set before anything else is imported."""

import sys


def main() -> None:
    """Run the command that the arguments give, and exit."""
    try:
        from onnxperf.cli import exit_codes

        exit_codes.catch_signals()
    except KeyboardInterrupt:
        sys.stderr.write("onnxperf: interrupted by SIGINT; nothing to show\n")
        sys.exit(128 + 2)
    try:
        from onnxperf.cli.start import main as run_command

        run_command()
    except (KeyboardInterrupt, Exception):
        if exit_codes.received():  # Python turns an interruption into other errors, such as within a class
            exit_codes.ignore_signals()
            sys.exit(exit_codes.end_interrupted())
        import traceback

        traceback.print_exc()
        sys.exit(exit_codes.INTERNAL)


if __name__ == "__main__":
    main()
