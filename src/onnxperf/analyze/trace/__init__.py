"""Analysis of onnxruntime traces and stack samples: events, nodes, times and memory."""
