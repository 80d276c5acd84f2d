"""Measurements: worker processes, clocks and races."""
