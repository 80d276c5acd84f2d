"""The built-in models and the demo."""

PREFIX = "zoo:"
"""How the name of a built-in model begins wherever a model is taken."""
