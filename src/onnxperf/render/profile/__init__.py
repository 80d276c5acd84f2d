"""Profiles and their differences, drawn."""
