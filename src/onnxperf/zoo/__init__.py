"""The built-in models and the demo."""

PREFIX = "zoo:"
"""The prefix of built-in models, wherever a model is accepted."""
