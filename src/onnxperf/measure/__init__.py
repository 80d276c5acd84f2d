"""Processes, clocks and the race."""
