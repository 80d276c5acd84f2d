"""What `quantize` and the tuner do with onnxruntime's quantizer, which runs in a process of its own."""
