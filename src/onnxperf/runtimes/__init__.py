"""The runtimes, which execute models."""
