"""Reading onnxruntime traces into columns."""
