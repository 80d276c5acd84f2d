"""The steps of the five documents that onnxperf grew from, each done in Python and on the command line."""
