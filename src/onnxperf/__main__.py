"""`python -m onnxperf` is the command `onnxperf`."""

from onnxperf.cli.main import main

main()
