"""`python -m onnxperf` and the script `onnxperf`: signals get their meaning before anything large is imported."""

import sys


def main() -> None:
    """Run the command that the arguments name, and exit."""
    from onnxperf.cli import exit_codes

    exit_codes.catch_signals()
    try:
        from onnxperf.cli.head_start import head_start

        head_start(sys.argv[1:])
        from onnxperf.cli.main import main as run_command
    except KeyboardInterrupt:
        exit_codes.ignore_signals()
        sys.exit(exit_codes.end_interrupted())
    run_command()


if __name__ == "__main__":
    main()
