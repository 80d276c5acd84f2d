"""How fast an ONNX model runs, where its time and memory go, and what would make it faster."""
