"""Races, sweeps and comparisons, drawn."""
