"""The built-in models and the demo."""
