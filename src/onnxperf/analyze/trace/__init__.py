"""What a trace of onnxruntime, or samples of stacks, show: events, nodes, times and memory."""
