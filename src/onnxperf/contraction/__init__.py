"""Einsum equations, and the ONNX graphs that compute them; these are only candidates, a race decides."""
