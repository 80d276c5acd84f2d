"""Einsum equations, and the ONNX graphs that compute them: candidates only, a race decides."""
