"""All commands by the question that they answer, as the first screen shows them."""

from __future__ import annotations

QUESTIONS = {
    "How fast?": {
        "bench": "Time models, or race them against each other",
        "sweep": "Run all cases of a plan file",
        "gate": "Pass or fail a new model in CI",
    },
    "Where does it go?": {
        "profile": "Show the time per operator, node and module",
        "memory": "Show peaks, growth and the largest tensors",
        "stack": "Sample Python and native call stacks",
        "view": "List or draw the graph, with times",
    },
    "What would help?": {
        "advise": "Find what is slow, and measure each fix",
        "tune": "Search for faster settings, and confirm them",
        "quantize": "Convert to int8, and measure speed and error",
        "einsum": "Find the fastest graph for an einsum",
    },
    "Same results?": {
        "check": "Compare outputs of models, runtimes or sources",
        "diff": "Compare two models or settings node by node",
        "bisect": "Find the release, setting or node that matters",
        "convert": "Export a model to ONNX, and verify it",
        "optimize": "Write the model that onnxruntime really runs",
    },
    "Past runs": {
        "runs": "List, show, compare, export and delete runs",
        "history": "Show how the times of a model changed",
        "report": "Write one HTML page about runs",
        "serve": "Show all runs in a browser, read-only",
    },
    "This machine": {
        "doctor": "Describe it, and measure its noise",
        "envs": "List or remove environments of other releases",
    },
}
"""What each command does, in a few words. Each command is a function in a module of the same name."""
COMMANDS = ("demo", *(name for commands in QUESTIONS.values() for name in commands))
