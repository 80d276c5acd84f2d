"""Config entries that onnxruntime knows."""

RUN_KEYS = frozenset({"memory.enable_memory_arena_shrinkage"})
