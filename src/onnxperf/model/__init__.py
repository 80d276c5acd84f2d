"""Turns any source of a model into a model with a signature and inputs."""
