"""What `quantize` and the tuner do with onnxruntime's quantiser, which runs in a process of its own."""
