"""Traces of onnxruntime, read into columns."""
