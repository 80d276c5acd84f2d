"""What the test of a real cluster and its script share."""

CASES = 30
TAG = "ONNXPERF_TEST_TAG"
"""Variable that marks the processes of one test."""
