"""Graphs, listed and drawn."""
