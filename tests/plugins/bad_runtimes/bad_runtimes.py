"""Runtimes that cannot be used."""

NOTHING = None
