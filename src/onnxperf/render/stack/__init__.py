"""Stacks of calls, drawn."""
