"""`python -m onnxperf` and the script `onnxperf`."""

import sys


def main() -> None:
    """Run the command that the arguments name, and exit."""
    from onnxperf.cli.head_start import head_start

    head_start(sys.argv[1:])
    from onnxperf.cli.main import main as run_command

    run_command()


if __name__ == "__main__":
    main()
